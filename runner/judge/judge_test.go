package judge

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// exited and signaled are wait statuses as wait(2) encodes them.
func exited(code int) sandbox.Exit {
	return sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(code << 8)}
}

func signaled(sig syscall.Signal) sandbox.Exit {
	return sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(sig)}
}

func TestJudge(t *testing.T) {
	killedFromOutside := sandbox.Exit{Executed: true}
	timedOut := sandbox.Exit{Executed: true, TimedOut: true}
	stop := &request.StopSignal{ExitCode: 143, Name: "SIGTERM"}
	oom := killed(1)
	denied := result.Report{Evidence: result.Evidence{PidsDenied: 7}}
	// with adds what the watchdog found.
	with := func(exit sandbox.Exit, full *outputs.Extent, short *freespace.Shortage) sandbox.Exit {
		exit.WorkFull, exit.HostFull = full, short
		return exit
	}
	noSpace := func(exit sandbox.Exit) sandbox.Exit { exit.NoSpace = true; return exit }
	large, many, short := &outputs.Extent{Files: 1, Bytes: 11}, &outputs.Extent{Files: 11, Bytes: 1}, &freespace.Shortage{Of: "/work", Free: 1, Floor: 2}
	decided := map[outcome.Reason]bool{}
	for name, c := range map[string]struct {
		ending ending
		state  outcome.State
		reason outcome.Reason
		code   int
		signal outcome.Signal
	}{
		"success":                        {ending{Exit: exited(0)}, outcome.Complete, outcome.ReasonExit, 0, ""},
		"own code":                       {ending{Exit: exited(3)}, outcome.Failed, outcome.ReasonExit, 3, ""},
		"exit 137 is no out of memory":   {ending{Exit: exited(137)}, outcome.Failed, outcome.ReasonExit, 137, ""},
		"abort":                          {ending{Exit: signaled(unix.SIGABRT)}, outcome.Failed, outcome.ReasonSignal, 134, "SIGABRT"},
		"segmentation fault, dumped":     {ending{Exit: sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(0x80 | int(unix.SIGSEGV))}}, outcome.Failed, outcome.ReasonSignal, 139, "SIGSEGV"},
		"SIGKILL to itself":              {ending{Exit: signaled(unix.SIGKILL)}, outcome.Failed, outcome.ReasonSignal, 137, "SIGKILL"},
		"killed from outside":            {ending{Exit: killedFromOutside}, outcome.Failed, outcome.ReasonSignal, 137, "SIGKILL"},
		"out of memory, ahead":           {ending{Exit: sandbox.Exit{Ahead: true}, Report: oom}, outcome.Failed, outcome.ReasonOutOfMemory, 137, ""},
		"work full, ahead":               {ending{Exit: sandbox.Exit{Ahead: true, WorkFull: &outputs.Extent{Bytes: 12}}}, outcome.Failed, outcome.ReasonWorkFull, 1, ""},
		"no start, out of memory":        {ending{Exit: sandbox.Exit{}, Report: oom}, outcome.Error, outcome.ReasonSandbox, 125, ""},
		"no start, ahead":                {ending{Exit: sandbox.Exit{Ahead: true}}, outcome.Error, outcome.ReasonSandbox, 125, ""},
		"out of memory":                  {ending{Exit: killedFromOutside, Report: oom}, outcome.Failed, outcome.ReasonOutOfMemory, 137, "SIGKILL"},
		"a child out of memory, exit 1":  {ending{Exit: exited(1), Report: oom}, outcome.Failed, outcome.ReasonOutOfMemory, 137, ""},
		"a child out of memory, exit 0":  {ending{Exit: exited(0), Report: oom}, outcome.Complete, outcome.ReasonExit, 0, ""},
		"timeout":                        {ending{Exit: timedOut}, outcome.Failed, outcome.ReasonTimeout, 124, "SIGKILL"},
		"timeout wins over memory":       {ending{Exit: timedOut, Report: oom}, outcome.Failed, outcome.ReasonTimeout, 124, "SIGKILL"},
		"stopped":                        {ending{Exit: killedFromOutside, Stopped: stop}, outcome.Canceled, outcome.ReasonStopped, 143, "SIGKILL"},
		"stopped wins over timeout":      {ending{Exit: timedOut, Stopped: stop}, outcome.Canceled, outcome.ReasonStopped, 143, "SIGKILL"},
		"stopped wins over a clean exit": {ending{Exit: exited(0), Stopped: stop}, outcome.Canceled, outcome.ReasonStopped, 143, ""},
		"pids limit":                     {ending{Exit: exited(1), Report: denied}, outcome.Failed, outcome.ReasonPidsLimit, 1, ""},
		"pids denied, exit 0":            {ending{Exit: exited(0), Report: denied}, outcome.Complete, outcome.ReasonExit, 0, ""},
		"too many bytes":                 {ending{Exit: with(killedFromOutside, large, nil)}, outcome.Failed, outcome.ReasonWorkFull, 1, "SIGKILL"},
		"too many names":                 {ending{Exit: with(killedFromOutside, many, nil)}, outcome.Failed, outcome.ReasonWorkFull, 1, "SIGKILL"},
		"full with a code of its own":    {ending{Exit: with(exited(7), large, nil)}, outcome.Failed, outcome.ReasonWorkFull, 7, ""},
		"full and pleased with it":       {ending{Exit: with(exited(0), large, nil)}, outcome.Failed, outcome.ReasonWorkFull, 1, ""},
		"SIGXFSZ at the bound":           {ending{Exit: with(signaled(unix.SIGXFSZ), large, nil)}, outcome.Failed, outcome.ReasonWorkFull, 153, "SIGXFSZ"},
		"SIGXFSZ below the bound":        {ending{Exit: signaled(unix.SIGXFSZ)}, outcome.Failed, outcome.ReasonSignal, 153, "SIGXFSZ"},
		"the host is full":               {ending{Exit: with(killedFromOutside, nil, short)}, outcome.Failed, outcome.ReasonHostFull, 1, "SIGKILL"},
		"the host first":                 {ending{Exit: with(killedFromOutside, large, short), Report: oom}, outcome.Failed, outcome.ReasonHostFull, 1, "SIGKILL"},
		"full wins over memory":          {ending{Exit: with(killedFromOutside, large, nil), Report: oom}, outcome.Failed, outcome.ReasonWorkFull, 1, "SIGKILL"},
		"a timeout wins over full":       {ending{Exit: with(timedOut, large, short)}, outcome.Failed, outcome.ReasonTimeout, 124, "SIGKILL"},
		"a stop wins over full":          {ending{Exit: with(killedFromOutside, large, short), Stopped: stop}, outcome.Canceled, outcome.ReasonStopped, 143, "SIGKILL"},
		"a full tmpfs":                   {ending{Exit: noSpace(exited(3))}, outcome.Failed, outcome.ReasonWorkFull, 3, ""},
		"a full tmpfs, by a mapping":     {ending{Exit: noSpace(signaled(unix.SIGBUS))}, outcome.Failed, outcome.ReasonWorkFull, 135, "SIGBUS"},
		"a full tmpfs, exit 0":           {ending{Exit: noSpace(exited(0))}, outcome.Complete, outcome.ReasonExit, 0, ""},
		"not found":                      {ending{Exit: sandbox.Exit{Errno: unix.ENOENT}}, outcome.Failed, outcome.ReasonNotFound, 127, ""},
		"not executable":                 {ending{Exit: sandbox.Exit{Errno: unix.EACCES}}, outcome.Failed, outcome.ReasonNotInvocable, 126, ""},
		"unknown format":                 {ending{Exit: sandbox.Exit{Errno: unix.ENOEXEC}}, outcome.Failed, outcome.ReasonNotInvocable, 126, ""},
		"never started":                  {ending{}, outcome.Error, outcome.ReasonSandbox, 125, ""},
		"declared output missing":        {ending{Exit: exited(0)}, outcome.Failed, outcome.ReasonOutputMissing, 1, ""},
		"a bad exit wins over missing":   {ending{Exit: exited(2)}, outcome.Failed, outcome.ReasonExit, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.ending.Analysis = spec.Analysis{Timeout: spec.Duration(time.Minute), Memory: spec.MiB, WorkFiles: 10, WorkSize: 10}
			c.ending.PidsLimit, c.ending.Command = 10, []string{"x"}
			var missing []string
			if strings.HasSuffix(name, "missing") {
				missing = []string{"*.csv"}
			}
			v := decide(c.ending, missing)
			decided[v.Reason] = true
			if v.State != c.state || v.Reason != c.reason || int(v.ExitCode) != c.code || v.Signal != c.signal {
				t.Errorf("got %+v", v)
			}
			if v.Message == "" {
				t.Error("no message")
			}
		})
	}
	for _, reason := range append(outcome.ReasonsOf(outcome.Failed), outcome.ReasonsOf(outcome.Canceled)...) {
		if !decided[reason] {
			t.Errorf("no case ends with %s: a new reason needs its place in the order", reason)
		}
	}
}

// Whose limit it was is said with the kernel's figures, and never with a limit that was not reached.
func TestOutOfMemoryMessage(t *testing.T) {
	for name, c := range map[string]struct {
		limit   *result.OOMLimit
		outer   bool
		peak    int64
		has     []string
		without []string
	}{
		"its own":          {&result.OOMLimit{By: result.OOMOwn, Bytes: 4096}, false, 4096, []string{"at the limit of 4KiB", "peak 4KiB", "oom_kill 3"}, []string{"around", "5000"}},
		"its own, no peak": {&result.OOMLimit{By: result.OOMOwn, Bytes: 4096}, false, 0, []string{"at the limit of 4KiB", "(oom_kill 3)"}, []string{"peak"}},
		"one around it":    {&result.OOMLimit{By: result.OOMOuter, Bytes: 2048}, false, 2000, []string{"2KiB of a control group around the run", "own limit of 4.883KiB was not reached", "peak 1.953KiB"}, nil},
		"outer":            {&result.OOMLimit{By: result.OOMOuter, Bytes: 2048}, true, 2000, []string{"2KiB of a control group around the run", "(oom_kill 3)"}, []string{"own limit", "peak"}},
		"either":           {&result.OOMLimit{By: result.OOMEither}, false, 5000, []string{"own limit of 4.883KiB or at that of a control group around it", "peak 4.883KiB"}, []string{"not reached"}},
		"nobody's":         {&result.OOMLimit{By: result.OOMUnknown}, false, 10, []string{"the host had no memory left", "own limit of 4.883KiB was not reached"}, nil},
		"not told":         {nil, true, 10, []string{"no known limit"}, []string{"5000"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := decide(ending{
				Exit: signaled(unix.SIGKILL), Analysis: spec.Analysis{Memory: 5000}, Outer: c.outer,
				Report: result.Report{Evidence: result.Evidence{OOMKills: 3, OOMLimit: c.limit}, Usage: result.Usage{MemoryPeakBytes: c.peak}},
			}, nil)
			if v.Reason != outcome.ReasonOutOfMemory {
				t.Fatalf("%+v", v)
			}
			for _, word := range c.has {
				if !strings.Contains(v.Message, word) {
					t.Errorf("no %q in %q", word, v.Message)
				}
			}
			for _, word := range c.without {
				if strings.Contains(v.Message, word) {
					t.Errorf("%q in %q", word, v.Message)
				}
			}
		})
	}
}

func TestOutOfPidsMessage(t *testing.T) {
	for name, c := range map[string]struct {
		peak  int64
		outer bool
		want  string
	}{
		"its own":       {10, false, "the limit of 10 processes was reached (2 forks denied)"},
		"no peak":       {0, false, "the limit of 10 processes was reached"},
		"outer":         {3, true, "the limit of 10 processes was reached"},
		"one around it": {3, false, "a control group around the run was reached (2 forks denied; its own limit of 10 was not, peak 3)"},
	} {
		report := result.Report{Evidence: result.Evidence{PidsDenied: 2}, Usage: result.Usage{PidsPeak: c.peak}}
		v := decide(ending{Exit: exited(1), Report: report, PidsLimit: 10, Outer: c.outer}, nil)
		if v.Reason != outcome.ReasonPidsLimit || !strings.Contains(v.Message, c.want) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestMissingIsQuoted: a pattern is anybody's text.
func TestMissingIsQuoted(t *testing.T) {
	v := decide(ending{Exit: exited(0)}, []string{"a, b", "\x1b[2J*"})
	if want := `nothing in /work matches the declared output "a, b", "\x1b[2J*"`; v.Message != want {
		t.Errorf("%s, want %s", v.Message, want)
	}
}

func TestSentenceIsOneLine(t *testing.T) {
	err := fmt.Errorf("harvest: %w", errors.Join(errors.New("no space left"), errors.New("the log is lost")))
	if got := result.Sentence(err); got != "harvest: no space left; the log is lost" {
		t.Error(got)
	}
}

// TestMessageNamesTheProgram: the arguments of a command that was not executed are in no message.
func TestMessageNamesTheProgram(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		unix.EACCES: `command "./tool" cannot be executed: permission denied`,
		unix.ENOENT: `command "./tool" is not in the container (or its interpreter is not)`,
	} {
		v := decide(ending{Exit: sandbox.Exit{Errno: errno}, Command: []string{"./tool", "--password", "x"}}, nil)
		if v.Message != want {
			t.Errorf("%s, want %s", v.Message, want)
		}
	}
}
