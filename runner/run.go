package runner

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/execute"
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
	defer launched.Cool()
	defer r.closeInputs()
	return r.finish(context.WithoutCancel(ctx)) // a stop request comes through the request; what is half done is finished
}

func (p phases) refuse(req request.Request, err error) (result.Result, error) {
	return Refused(req.Analysis, err, p.host.Version), err
}

// finish takes a run through the phases after begin. Nothing is removed before the commit.
func (r *run) finish(ctx context.Context) (result.Result, error) {
	r.task.Observer.Created()
	r.addFonts(ctx)
	r.startAhead()
	ended, harvestable := execute.Run(ctx, r.task)
	end := r.end(ended)
	if harvestable {
		end = r.harvest(ctx, end)
	}
	end = r.noteInputs(ctx, end) // the script is part of the action
	final, err := r.commit(ctx, end)
	switch {
	case err == nil:
		delivered := r.deliver(ctx, end, final)
		if err := r.stores().Stand(); err != nil { // a hook may take hours
			return r.keep(ctx, end, final, err) // as it was committed: the hook is due again
		}
		final = delivered
	case !errors.Is(err, phase.ErrSuperseded):
		return r.keep(ctx, end, r.unexported(final), err)
	}
	final = r.clean(ctx, end, final)
	return r.result(end, final), err
}
