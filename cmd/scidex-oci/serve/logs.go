package serve

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// streams are what logs has.
var streams = []string{"stdout", "stderr"}

// logsParams are the parameters of logs.
type logsParams struct {
	ID      string   `json:"id"`
	Streams []string `json:"streams"` // none: both
	Follow  bool     `json:"follow"`  // go on until the run has ended
}

// logPart is a notification of logs.
type logPart struct {
	Request json.RawMessage `json:"request"` // the id of the request
	event.Log
}

// logsAnswer follows the parts.
type logsAnswer struct {
	State outcome.State `json:"state"`
	Logs  result.Logs   `json:"logs"` // of a run that has ended
}

// logs sends what a run wrote in parts, then its answer. The parts come from files: a caller that reads slowly has them
// later, and no part is dropped.
func (p *peer) logs(ctx context.Context, r rpc.Request) (any, error) {
	var params logsParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	for _, stream := range params.Streams {
		if !slices.Contains(streams, stream) {
			return nil, rpc.Errorf(rpc.CodeInvalidParams, "params: streams: %q is no stream; choose from %s", stream, strings.Join(streams, ", "))
		}
	}
	run, err := p.Engine.Find(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	switch run, err = p.copyLogs(ctx, r.ID, run, params); {
	case err != nil:
		return nil, err
	case !run.State.Final():
		return logsAnswer{State: run.State}, nil
	}
	report, err := result.ReportOf(run)
	return logsAnswer{run.State, report.Logs}, err
}

// copyLogs sends the parts.
func (p *peer) copyLogs(ctx context.Context, request json.RawMessage, run catalog.Run, params logsParams) (catalog.Run, error) {
	var to [2]io.Writer
	for i, name := range streams {
		if len(params.Streams) > 0 && !slices.Contains(params.Streams, name) {
			continue
		}
		parts := &event.Stream{Limit: math.MaxInt64, Tell: func(offset int64, part []byte) {
			p.conn.Out.Notify("log", logPart{request, event.NewLog(run.Attempt, name, offset, part)})
		}}
		defer parts.End()
		to[i] = &patient{ctx, p.conn.Out, parts}
	}
	return p.Engine.Logs(ctx, run, to, params.Follow)
}

// patient writes when the caller has read what was written before.
type patient struct {
	ctx context.Context
	out *rpc.Out
	to  io.Writer
}

// Write implements io.Writer.
func (w *patient) Write(b []byte) (int, error) {
	if err := w.out.Await(w.ctx); err != nil {
		return 0, err
	}
	return w.to.Write(b)
}
