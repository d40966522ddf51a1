package mcpcmd

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/spec"
)

// logsShown is how much of the end of each log comes with a verdict, in bytes.
const logsShown = 4 << 10

// runOutput is the answer to run_code.
type runOutput struct {
	verdict
	Stdout logPart `json:"stdout" jsonschema:"the end of standard output"`
	Stderr logPart `json:"stderr" jsonschema:"the end of standard error"`
}

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

// answer is the verdict on a run that has ended, with the ends of its logs, figures and links to its outputs.
func (t *tools) answer(ctx context.Context, r result.Result) (*mcp.CallToolResult, runOutput, error) {
	out := runOutput{verdict: t.verdict(r)}
	run, err := t.Engine.Find(ctx, r.Key().String())
	if err != nil {
		return nil, out, err
	}
	var windows [2]*window
	for i := range windows {
		windows[i] = tail(logsShown)
	}
	if _, err := t.copyLogs(ctx, run, windows); err != nil {
		return nil, out, err
	}
	out.Stdout, out.Stderr = windows[0].part(), windows[1].part()
	answer, err := structured(out)
	if err == nil {
		answer.IsError = r.State != outcome.Complete
		answer.Content = append(answer.Content, t.figures(ctx, r)...)
		answer.Content = append(answer.Content, links(out.verdict)...)
	}
	return answer, out, err
}
