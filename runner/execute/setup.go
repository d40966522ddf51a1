package execute

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// setUp makes the directories, sets the limits and creates the container, which then waits to be started.
func (e *execution) setUp(ctx context.Context) (*sandbox.Created, error) {
	made := e.span("make the directories")
	err := e.makeDirectories(ctx)
	made()
	if err = errors.Join(e.await(ctx), err); err != nil {
		return nil, err
	}
	e.report.slow(e.Warm.Slow())
	if err := e.tracer.Do(trace.Run, "set the limits and read them back", e.setLimits); err != nil {
		return nil, err
	}
	return e.create(ctx)
}

// await waits for the supervisor. setUp calls it after a failure too, since the supervisor must be closed.
func (e *execution) await(ctx context.Context) (err error) {
	defer e.span("wait for the supervisor")()
	e.Space.Supervisor, err = e.Warm.Wait(ctx)
	return err
}

// makeDirectories makes the directories, keeps the script, opens the standard input and stages the inputs.
func (e *execution) makeDirectories(ctx context.Context) error {
	if err := e.Space.Make(ctx); err != nil {
		return err
	}
	var err error
	e.script, err = keepScript(e.Plan.Inputs.Script, e.Space.Ingest)
	var failed error
	e.stdin, failed = openStdin(e.Request, e.Space.Ingest)
	return errors.Join(err, failed, e.stage(ctx))
}

// stage copies what --stage names into /work.
func (e *execution) stage(ctx context.Context) (err error) {
	if e.Plan.Stage == nil {
		return nil
	}
	account := e.Plan.Account
	owner := &outputs.Owner{UID: account.HostUID(0), GID: account.HostGID(0)}
	e.staged, err = outputs.Stage(ctx, e.Plan.Stage, e.Space.Dir.Work, owner, e.Plan.Bounds())
	if err == nil {
		e.report.staged(e.staged)
	}
	return err
}

// setLimits sets the limits and reads them back.
func (e *execution) setLimits() error {
	warnings, err := e.Space.Limits.Set()
	e.report.Enforced = e.Space.Limits.Enforced
	e.report.tell(warnings...)
	return err
}

// create makes the container.
func (e *execution) create(ctx context.Context) (*sandbox.Created, error) {
	defer e.span("create the container")()
	if err := e.repairRoot(ctx); err != nil {
		return nil, err
	}
	made := e.span("make the job")
	job, err := e.Plan.Job(e.Space.Dir, e.Space.Ingest.Dir(), plan.Own{Script: keptScript(e.script, e.Plan.Inputs.Script), Stdin: e.stdin.Analysis(), Terminal: e.Request.Terminal, Trace: spans.From(ctx).Variables(spans.AnalysisPhase)})
	made()
	if err != nil {
		return nil, err
	}
	defer e.span("send the job, wait for the container")()
	return e.Space.Supervisor.Create(job)
}

// repairRoot repairs a damaged root filesystem, and reports it.
func (e *execution) repairRoot(ctx context.Context) error {
	repaired, err := e.Plan.Base.Repair(ctx)
	if repaired {
		e.report.tell(fmt.Sprintf("the root filesystem of image %q had been changed, and was made again from its layers before the start",
			e.Plan.Base.Image.Image.Name))
	}
	return err
}
