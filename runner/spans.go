package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// traced makes a trace of each run, if there is a queue for it.
type traced struct {
	Runner
	queue *spans.Queue
}

// Run puts the trace into the queue when the run has ended.
func (t traced) Run(ctx context.Context, req request.Request) (result.Result, error) {
	if t.queue == nil {
		return t.Runner.Run(ctx, req)
	}
	of := t.queue.Begin(req.Parent)
	ctx, tracer := recorded(spans.With(ctx, of), of)
	res, err := t.Runner.Run(ctx, req)
	if of.Recorded() && res.Attempt > 0 {
		t.queue.Put(of.Finish(tracer.Spans(), aboutRun(res)))
	}
	return res, err
}

// recorded returns a context that traces if spans are recorded, and its tracer.
func recorded(ctx context.Context, of *spans.Run) (context.Context, *trace.Tracer) {
	tracer := trace.From(ctx)
	if tracer == nil && of.Recorded() {
		tracer = &trace.Tracer{}
	}
	return trace.With(ctx, tracer), tracer
}

// aboutRun is what the span of a run says. It names no file, no command and no label of the user.
func aboutRun(res result.Result) spans.About {
	a := spans.About{
		Text: map[string]string{
			"scidex_oci.run.id": res.ID, "scidex_oci.run.state": string(res.State), "scidex_oci.run.reason": string(res.Reason),
		},
		Numbers: map[string]int64{"scidex_oci.run.attempt": int64(res.Attempt), "scidex_oci.run.exit_code": int64(res.ExitCode)},
	}
	if digest := res.Sandbox.RootfsDigest; digest != nil {
		a.Text["scidex_oci.rootfs.digest"] = *digest
	}
	if res.Start != nil {
		a.Text["scidex_oci.start.kind"] = res.Start.Kind
	}
	if res.State != outcome.Complete && res.State != outcome.Canceled {
		a.Failed = string(res.State) + ": " + string(res.Reason)
	}
	return a
}
