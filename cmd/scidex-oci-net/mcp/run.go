package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/spec"
)

// runCode runs an analysis and answers when it has ended. A canceled call cancels its run, and so does the end of its client.
func (t *tools) runCode(ctx context.Context, r *mcp.CallToolRequest, in runInput) (*mcp.CallToolResult, runOutput, error) {
	leave, err := t.enter()
	if err != nil {
		return nil, runOutput{}, err
	}
	defer leave()
	a, remove, err := t.analysis(ctx, in)
	if err != nil {
		return nil, runOutput{}, err
	}
	defer remove()
	ended, err := t.run(ctx, r, a)
	if err != nil {
		return nil, runOutput{}, t.refused(err)
	}
	return t.answer(ctx, ended)
}

// run runs an analysis to its end.
func (t *tools) run(ctx context.Context, r *mcp.CallToolRequest, a spec.Analysis) (result.Result, error) {
	ctx, leave := t.open.enter(ctx, r.Session.ID())
	defer leave()
	caller := t.Engine.NewCaller()
	defer caller.Close()
	var events dispatch.Events
	if token := r.Params.GetProgressToken(); token != nil {
		notes := notify(ctx, r.Session, token)
		defer notes.end()
		events = notes
	}
	j, err := caller.Submit(a, events, false)
	if errors.Is(err, engine.ErrDraining) {
		err = errors.New("this server ends and takes no new runs")
	}
	if err != nil {
		return result.Result{}, err
	}
	select {
	case <-j.Done():
	case <-ctx.Done():
		j.Cancel()
		<-j.Done()
	}
	return j.Result()
}
