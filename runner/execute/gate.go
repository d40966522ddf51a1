package execute

import (
	"cmp"
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/preload"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// confine puts a container at its gate under the limits, and watches it for lack of memory.
func (e *execution) confine(created *sandbox.Created) (unwatch func() error, err error) {
	if e.Plan.Account.Root() {
		plan.FixOOMScore(created.Pid)
	}
	warnings, unwatch, err := e.Space.Limits.Join(created.Pid, e.Warm.Alone(), e.Space.Kill)
	e.report.Enforced = e.Space.Limits.Enforced
	e.report.tell(warnings...)
	return unwatch, err
}

// admit has the command started ahead if the plan says so, and waits at the gate until the request admits the analysis.
func (e *execution) admit(ctx context.Context) (err error) {
	if e.Plan.Extra.Ahead != nil {
		imported := e.span("import modules ahead")
		e.report.Start, err = importAhead(ctx, e.Task)
		imported()
	}
	if e.Request.Admit == nil || err != nil {
		return err
	}
	waiting, release := request.UntilStop(ctx, e.Request.Stop, 0)
	err = e.Request.Admit(waiting)
	return cmp.Or(release(), err)
}

// importAhead starts the command before its turn, and returns when it is ready or of no use.
func importAhead(ctx context.Context, t Task) (*result.Start, error) {
	waiting, release := request.UntilStop(ctx, t.Request.Stop, 0)
	stopKill := context.AfterFunc(waiting, func() { t.Space.Warn(t.Space.Supervisor.Kill()) })
	note, err := t.Space.Supervisor.Prepare()
	stopKill()
	if err = cmp.Or(release(), err); err != nil {
		return nil, err
	}
	start := preload.Read(note)
	return &start, nil
}
