package runner

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/execute"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/replay"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
)

// Run executes one analysis and returns its result, which is complete in any case. The error is not nil only where the
// catalog does not have the result: a *request.Error for a request refused before anything was made, or why the end could
// not be committed; the result then has state error. With phase.ErrSuperseded it is the result that was not committed.
func Run(ctx context.Context, host *phase.Host, req request.Request) (result.Result, error) {
	if host.Spans == nil {
		return perform(ctx, host, req)
	}
	req.Spans = host.Spans.Begin(req.Parent)
	ctx, tracer := recorded(ctx, req.Spans)
	res, err := perform(ctx, host, req)
	if req.Spans.Recorded() && res.Attempt > 0 {
		host.Spans.Put(req.Spans.Finish(tracer.Spans(), aboutRun(res)))
	}
	return res, err
}

// perform is Run without spans.
func perform(ctx context.Context, host *phase.Host, req request.Request) (result.Result, error) {
	launched, err := launch(ctx, req)
	if err != nil {
		return Refused(req.Analysis, err, host.Version), err
	}
	req, err = knowStdin(ctx, host, req)
	if err != nil {
		launched.Drop()
		return Refused(req.Analysis, err, host.Version), err
	}
	defer req.KnownStdin.Close() //nolint:errcheck // it was only read
	var unused string
	if req.Reuse {
		res, found, why, err := replay.Reuse(ctx, host, req, launched)
		if found && err == nil {
			launched.Drop()
			return res, nil
		}
		if err != nil {
			launched.Drop()
			return Refused(req.Analysis, err, host.Version), err
		}
		unused = why
	}
	r, err := begin(ctx, host, req, launched)
	if err != nil {
		launched.Drop()
		return Refused(req.Analysis, err, host.Version), err
	}
	defer launched.Cool()
	defer r.closeInputs()
	if unused != "" {
		r.task.Report.Warnings = append(r.task.Report.Warnings, "no earlier run was looked for: "+unused)
	}
	return r.finish(context.WithoutCancel(ctx)) // a stop request comes through the request; what is half done is finished
}

// launch starts what the run needs before its request is checked, unless the caller has.
func launch(ctx context.Context, req request.Request) (*standby.Standby, error) {
	if req.Standby != nil {
		return req.Standby, nil
	}
	return standby.Begin(ctx, req.Analysis.Limits)
}

// finish takes a run through its phases. Nothing is removed before the commit.
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
