// Package execute runs the analysis of a run: it makes the directories, sets the limits, starts the container, supervises it
// and reads what the kernel counted.
package execute

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/digest"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/runner/execute/meter"
	"github.com/scidex-ai/scidex-oci/runner/execute/streams"
	"github.com/scidex-ai/scidex-oci/runner/observe"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Task is a run that is to be executed.
type Task struct {
	Request   request.Request
	Plan      *plan.Plan
	Space     *workspace.Workspace
	Warm      *warm.Sandbox
	Suspender *suspend.Suspender
	Observer  *observe.Observer
	Digests   *digest.Digests // of the inputs, started with the analysis
	Report    result.Report   // so far
}

// Run runs the analysis until every process of it is dead and its control group is gone, and returns how it ended. A failure
// is part of that, as is a stop request before the start: then harvestable is false, and nothing is to be read of /work.
func Run(ctx context.Context, t Task) (ended phase.Ended, harvestable bool) {
	e := &execution{Task: t, report: report{t.Report}, tracer: trace.From(ctx), stderr: bounded.Tail(stderrEnd)}
	if err := e.run(ctx); err != nil {
		failure := e.fail(ctx, err)
		e.Space.Warn(e.stdin.Close())
		ended = e.ended()
		ended.Failure = failure
		return ended, false
	}
	ended = e.ended()
	e.keepLogs(&ended)
	return ended, true
}

// stderrEnd is how much of the end of standard error the judge sees, in bytes.
const stderrEnd = 8 << 10

// execution is one analysis from its plan to its end.
type execution struct {
	Task
	report  report
	tracer  *trace.Tracer
	staged  []outputs.Entry
	script  *streams.Log    // nil if a command runs
	stdin   *streams.Feed   // nil: it is empty
	logs    [2]*streams.Log // standard output, standard error; nil before the gate
	stderr  *bounded.Buffer // to be read when the streams have ended
	meter   meter.Meter
	stops   stops
	proxy   *egress.Process // nil: it may send no requests
	started time.Time
	exit    sandbox.Exit
}

// run sets the analysis up, runs it and proves its control group empty. After an error fail
// kills what is left, and nothing is harvested.
func (e *execution) run(ctx context.Context) error {
	waiting, release := request.UntilStop(ctx, e.Request.Stop, 0)
	created, err := e.setUp(waiting)
	if created != nil {
		defer created.Close()
	}
	if err = cmp.Or(release(), err); err != nil {
		return err
	}
	if err := e.runContainer(ctx, created); err != nil {
		return err
	}
	defer func() { e.report.space(e.exit) }()
	if err := e.tracer.Do(trace.Run, "prove the control group empty, read its counters", e.collect); err != nil {
		return err
	}
	defer e.span("wait for the check of the root filesystem")()
	if err := e.Plan.Base.Sound(); err != nil {
		return err
	}
	e.report.root(e.Plan.Base)
	return nil
}

// runContainer lets a container at its gate run the analysis, until every process of it is dead.
func (e *execution) runContainer(ctx context.Context, created *sandbox.Created) error {
	e.report.walls(created.Walls)
	e.report.binds(created.Binds)
	confined := e.span("move it into the control group")
	unwatch, err := e.confine(created)
	e.Warm.StopWarming()
	confined()
	if err != nil {
		return err
	}
	if err = e.admit(ctx); err == nil {
		e.proxy, e.report.Requests, err = sendOn(created, e.Space.Host.Egress, e.Plan, e.Observer.Request)
	}
	defer func() { e.report.proxy(e.proxy.Stop()) }()
	if err == nil {
		supervised := e.span("run the analysis")
		err = e.supervise(ctx, created)
		supervised()
	}
	e.Space.Warn(unwatch())
	if err == nil && e.exit.WatchError != "" {
		err = errors.New(e.exit.WatchError)
	}
	if e.Plan.Analysis.Repeats() && !e.started.IsZero() {
		e.report.addresses(e.exit)
	}
	if e.exit.AuditError != "" {
		e.report.tell("the audit is not complete: " + e.exit.AuditError)
	}
	return err
}

// span starts a phase of what the run waits for.
func (e *execution) span(name string) (end func()) { return e.tracer.Span(trace.Run, name) }
