package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/digest"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/host/room"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/clock"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// execution is one run from its intent row to its result.
type execution struct {
	*phase.Host
	plan    *plan.Plan
	request request.Request

	trace *trace.Tracer  // nil: nothing is traced
	noted sync.WaitGroup // recording the location

	launched   *standby.Standby
	tenure     *workspace.StateFile
	place      workspace.Location
	run        catalog.Run
	dir        *workspace.Workdir
	ingest     *blob.Ingest
	supervisor *sandbox.Session
	prints     *digest.Digests // nil: the analysis has not begun
	groupName  string          // of the control group, on this host
	group      *cgroup.Group
	outer      *outerHold // --limits outer
	staged     []outputs.Entry
	sinks      [2]*logSink // standard output, standard error
	script     *logSink    // nil where a command runs

	mu        sync.Mutex
	stopped   *request.StopSignal
	stoppedAt time.Time
	insisted  bool // with SIGKILL

	suspender *suspend.Suspender
	clock     clock.Stopwatch // as the launcher sees it
	last      event.Usage
	observer  observer

	exit      protocol.Exit
	recorder  recorder
	report    result.Report
	harvested harvest.Harvested
}

// execute runs the analysis and reads what it left. The failure is why the run is an error of ours, nil for none; the run is
// committed in either case.
func (e *execution) execute(ctx context.Context) *judge.Failure {
	if err := e.sandbox(ctx); err != nil {
		return e.failed(ctx, err)
	}
	ended := e.ended()
	e.observeExit(ended)
	if err := e.harvest(ctx, ended); err != nil {
		return &judge.Failure{Reason: result.ReasonHarvest, Err: err}
	}
	e.observeHarvest()
	return nil
}

// failed kills what still runs after a sandbox error, so that nothing is cleaned under a living process. A stop request
// before the start is no failure.
func (e *execution) failed(ctx context.Context, err error) *judge.Failure {
	err = e.underlying(err)
	if e.supervisor != nil {
		e.tell(e.supervisor.Close())
	}
	e.tell(e.salvageEvidence())
	err = e.plan.Base.Aftercare(ctx, err)
	var stopped *request.StoppedError
	if errors.As(err, &stopped) {
		e.stopped, e.stoppedAt = &stopped.Signal, time.Now()
		return nil
	}
	reason := result.ReasonSandbox
	if errors.Is(err, sandbox.ErrLost) {
		reason = result.ReasonSupervisorLost
	}
	return &judge.Failure{Reason: reason, Err: room.Explain(err)}
}

// supervisorDeath is how long a supervisor that was killed may take to end after its children, far more than it needs.
const supervisorDeath = 10 * time.Second

// underlying is ErrLost where the supervisor is dead: then other failures are consequences, such as a process that no longer
// exists when it is put into its control group. That dies with the thread that started it, before the supervisor's others.
func (e *execution) underlying(err error) error {
	var stopped *request.StoppedError
	if e.supervisor == nil || errors.Is(err, sandbox.ErrLost) || errors.As(err, &stopped) {
		return err
	}
	within := time.Duration(0)
	if errors.Is(err, cgroup.ErrGone) || errors.Is(err, unix.ESRCH) {
		within = supervisorDeath
	}
	if !e.supervisor.Died(within) {
		return err
	}
	return fmt.Errorf("%w: %w", sandbox.ErrLost, err)
}

// sandbox runs the analysis until every process of it is dead and its control group is gone.
func (e *execution) sandbox(ctx context.Context) error {
	waiting, release := request.UntilStop(ctx, e.request.Stop, 0)
	created, err := e.ready(waiting)
	if created != nil {
		defer created.Close()
	}
	if err = cmp.Or(release(), err); err != nil {
		return err
	}
	e.noteWalls(created.Walls)
	confined := e.span("move it into the control group")
	unwatch, err := e.confine(created)
	e.launched.Cool()
	confined()
	if err != nil {
		return err
	}
	if err = e.admitted(ctx); err == nil {
		supervised := e.span("run the analysis")
		err = e.supervise(ctx, created)
		supervised()
	}
	e.tell(unwatch())
	if err == nil && e.exit.WatchError != "" {
		err = fmt.Errorf("the bounds of /work could not be watched: %s", e.exit.WatchError)
	}
	e.noteAddresses()
	if e.exit.AuditError != "" {
		e.report.Warnings = append(e.report.Warnings, "the audit is not complete: "+e.exit.AuditError)
	}
	if err != nil {
		return err
	}
	defer e.noteSpace()
	if err := e.trace.Do(trace.Run, "prove the control group empty, read its counters", e.collectEvidence); err != nil {
		return err
	}
	return e.trace.Do(trace.Run, "wait for the check of the root filesystem", e.vouch)
}

// noteAddresses adds the kernel's report of a deterministic run.
func (e *execution) noteAddresses() {
	switch {
	case !e.plan.Analysis.Repeats() || e.run.StartedAt.IsZero():
	case e.exit.FixedAddresses:
		e.report.Sandbox.AddressRandomization = "off"
	default:
		e.report.Sandbox.AddressRandomization = "on"
		e.report.Warnings = append(e.report.Warnings, "the kernel does not confirm that addresses were not randomised")
	}
}

func (e *execution) noteWalls(walls protocol.Walls) {
	e.report.Sandbox.SocketWall = string(walls.Sockets)
	if walls.Sockets == protocol.WallScan {
		e.report.Warnings = append(e.report.Warnings,
			"a bound directory could not be shown as an overlay: it held no socket at the start, but one made in it later could be reached")
	}
	if len(walls.Bare) > 0 {
		e.report.Warnings = append(e.report.Warnings,
			"shown as it is and not through an overlay, so that the host feels locks on it: "+outputs.Escape([]byte(strings.Join(walls.Bare, ", "))))
	}
}

// confine moves a container at its gate into the control group and watches it for lack of memory.
func (e *execution) confine(created *sandbox.Created) (unwatch func() error, err error) {
	if e.plan.Account.Root() {
		plan.FixOOMScore(created.Pid)
	}
	if e.plan.Analysis.Limits == spec.LimitsOuter {
		e.holdOuter(created.Pid)
	}
	if e.group == nil {
		return func() error { return nil }, nil
	}
	if err := e.group.Add(created.Pid); err != nil {
		return nil, err
	}
	unwatch, err = e.group.WatchOOM(e.kill)
	if err != nil {
		return nil, fmt.Errorf("watch for out of memory: %w", err)
	}
	return unwatch, nil
}

// admitted waits at the gate until the request admits the analysis.
func (e *execution) admitted(ctx context.Context) error {
	if e.request.Admit == nil {
		return nil
	}
	waiting, release := request.UntilStop(ctx, e.request.Stop, 0)
	err := e.request.Admit(waiting)
	return cmp.Or(release(), err)
}

// tell logs an error that changes nothing about the run.
func (e *execution) tell(err error) {
	if err != nil {
		e.Log.Warn("run "+e.run.ID, "error", err)
	}
}
