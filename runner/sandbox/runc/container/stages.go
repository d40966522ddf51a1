package container

import (
	"strings"
	"sync"

	"github.com/opencontainers/runc/libcontainer"
	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/sirupsen/logrus"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// stages are the steps of a start, in order, with the debug log line of libcontainer or its init that ends each. Times
// are when the supervisor receives the lines.
var stages = []struct{ said, step string }{
	{"runc exeseal: using /proc/self/exe clone", "seal the program"},
	{"=> nsexec container setup", "execute libcontainer's init"},
	{"~> nsexec stage-1", "spawn its stage 1"},
	{"request stage-0 to map user namespace", "make the user namespace"},
	{"unshare remaining namespaces", "map its ids"},
	{"spawn stage-2", "make the other namespaces"},
	{"<= nsexec container setup", "spawn its stage 2"},
	{"child process in init()", "start its Go part"},
	// It mounts next, without a log line.
	{"init: closing the pipe to signal completion", "change the root, mask paths"},
	{"init: about to wait on exec fifo", "end of libcontainer's init"},
}

// steps traces one container's first process; nil without tracing. It needs no changed libcontainer, only its debug log
// and a hook that changes nothing.
type steps struct {
	*trace.Steps
	tracer   *trace.Tracer
	executed int64 // start of the analysis; 0: not started

	mu   sync.Mutex
	next int // of stages
}

// newSteps adds a hook to the configuration, which libcontainer calls after making the container's mounts.
func newSteps(tracer *trace.Tracer, config *configs.Config) *steps {
	if tracer == nil {
		return nil
	}
	s := &steps{tracer: tracer}
	hook := configs.NewFunctionHook(func(*specs.State) error { s.Done("mount"); return nil })
	config.Hooks = configs.Hooks{configs.CreateRuntime: configs.HookList{hook}}
	return s
}

// start starts a container up to its gate. A tracing supervisor has one run, so all log lines are its.
func (s *steps) start(container *libcontainer.Container, process *libcontainer.Process) error {
	if s == nil {
		return container.Start(process)
	}
	s.Steps = s.tracer.Steps(trace.Init)
	process.LogLevel = "5" // logrus.DebugLevel
	logrus.SetLevel(logrus.DebugLevel)
	logrus.AddHook(s)
	defer func() {
		logrus.StandardLogger().ReplaceHooks(logrus.LevelHooks{})
		logrus.SetLevel(logrus.InfoLevel)
	}()
	return s.tracer.Do(trace.Supervisor, "start libcontainer's init", func() error { return container.Start(process) })
}

// Levels are those of the lines that Fire gets.
func (s *steps) Levels() []logrus.Level { return logrus.AllLevels }

// Fire ends the step that a log line ends.
func (s *steps) Fire(line *logrus.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, stage := range stages[s.next:] {
		if strings.Contains(line.Message, stage.said) {
			s.next += i + 1
			s.Done(stage.step)
			break
		}
	}
	return nil
}

// open records that the gate is opening.
func (s *steps) open() {
	if s != nil {
		s.Done("wait at the gate")
	}
}

// hear records a report of init.
func (s *steps) hear(r report) {
	if s == nil {
		return
	}
	switch r.kind {
	case reportBegun:
		s.DoneAt("execute our init", r.at)
	case reportFiltered:
		s.DoneAt("load the filter", r.at)
	case reportAudited:
		s.DoneAt("load the audit", r.at)
	case reportExecuted:
		s.executed = r.at
		s.DoneAt("execute the analysis", r.at)
	case reportEnded:
		s.ran(r.at)
	}
}

// ran records the analysis' run, once.
func (s *steps) ran(until int64) {
	if s.executed != 0 {
		s.tracer.Add(trace.Span{Lane: trace.Analysis, Name: "analysis", Start: s.executed, End: until})
		s.DoneAt("wait for the analysis", until)
		s.executed = 0
	}
}

// end records that the container's last process is dead.
func (s *steps) end() {
	if s == nil {
		return
	}
	s.ran(trace.Now()) // if it was killed with our init
	s.Done("end of the container")
}
