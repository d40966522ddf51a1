package runner

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/execute"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// phases is the Runner that takes a request through its phases.
type phases struct {
	host  *phase.Host
	start warm.Start
}

// Run starts what the run needs before its request is checked.
func (p phases) Run(ctx context.Context, req request.Request) (result.Result, error) {
	launched, err := p.start(ctx, req.Analysis.Limits)
	if err != nil {
		return p.refuse(req, err)
	}
	r, err := begin(ctx, p.host, req, launched)
	if err != nil {
		launched.Drop()
		return p.refuse(req, err)
	}
	defer launched.StopWarming()
	defer r.closeInputs()
	return r.finish(context.WithoutCancel(ctx)) // a stop request comes through the request; what is half done is finished
}

func (p phases) refuse(req request.Request, err error) (result.Result, error) {
	return Refused(req.Analysis, err, p.host.Version), err
}

// finish takes a run through the phases after begin, in the order of docs/ARCHITECTURE.md. Nothing is removed before the commit.
func (r *run) finish(ctx context.Context) (result.Result, error) {
	r.task.Observer.Created()
	r.prepare(ctx)
	end, harvestable := r.execute(ctx)
	if harvestable {
		end = r.harvest(ctx, end)
	}
	end = r.digests(ctx, end)
	end, err := r.judge(ctx, end)
	if err == nil {
		err = r.commit(ctx, end)
	}
	switch {
	case err == nil:
		delivered := r.deliver(ctx, end)
		if err := commit.CheckStores(r.host); err != nil { // a hook may take hours
			return r.keep(ctx, end, err) // as it was committed: the hook is due again
		}
		end = delivered
	case !errors.Is(err, phase.ErrSuperseded): // what a superseded run made is removed
		return r.keep(ctx, r.unexported(end), err)
	}
	end = r.clean(ctx, end)
	return r.result(end), err
}

// execute runs the analysis. It reports whether there is something to harvest.
func (r *run) execute(ctx context.Context) (end judge.End, harvestable bool) {
	ended, harvestable := execute.Run(ctx, r.task)
	row := r.space.Run
	row.StartedAt = ended.StartedAt
	return judge.End{
		Ended: ended, Row: row, HasWork: r.space.Dir != nil, Caller: r.task.Request.Caller, Harvest: harvest.Nothing(),
	}, harvestable
}

// result makes the result of a run that just ended, from memory.
func (r *run) result(end judge.End) result.Result {
	res, err := end.Result()
	r.space.Warn(err)
	return res
}
