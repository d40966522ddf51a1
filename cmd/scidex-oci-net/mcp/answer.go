package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

const (
	// logsShown is how much of the end of each log comes with an answer, in bytes.
	logsShown = 4 << 10
	// mostNamed bounds the outputs, and what was rejected, that an answer names.
	mostNamed = 20
)

// runOutput is the short answer about a run: how it ended, what to do about that, and what it left. get_run has the rest. What is empty
// is left out: a model pays for each word.
type runOutput struct {
	ID            string        `json:"id"`
	State         string        `json:"state" jsonschema:"complete, failed, canceled, error, lost, running or queued"`
	Reason        string        `json:"reason,omitempty" jsonschema:"why it is not complete, such as exit, timeout or out_of_memory"`
	ExitCode      *int          `json:"exit_code,omitempty" jsonschema:"of a run that has ended"`
	Message       string        `json:"message,omitempty"`
	Hints         []result.Hint `json:"hints,omitempty" jsonschema:"what to do about the end"`
	Warnings      []string      `json:"warnings,omitempty"`
	Outputs       []named       `json:"outputs,omitempty" jsonschema:"the first ones; list_outputs has all"`
	OutputsTotal  int64         `json:"outputs_total,omitempty" jsonschema:"if there are more"`
	Rejected      []refused     `json:"rejected,omitempty" jsonschema:"what was left and is no output"`
	RejectedTotal int64         `json:"rejected_total,omitempty" jsonschema:"if there are more"`
	Stdout        string        `json:"stdout,omitempty" jsonschema:"the end of standard output"`
	StdoutTotal   int64         `json:"stdout_total,omitempty" jsonschema:"bytes, if there are more"`
	Stderr        string        `json:"stderr,omitempty" jsonschema:"the end of standard error"`
	StderrTotal   int64         `json:"stderr_total,omitempty" jsonschema:"bytes, if there are more"`
}

// named is an output by its name.
type named struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// refused is something in /work that is no output.
type refused struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// answer is the short answer about a run, as data and as text, with figures and links to its outputs.
func (t *tools) answer(ctx context.Context, r result.Result) (*mcp.CallToolResult, runOutput, error) {
	out := t.short(r)
	if err := t.addLogs(ctx, r, &out); err != nil {
		return nil, out, err
	}
	answer := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.text()}}, IsError: r.State.Final() && r.State != outcome.Complete}
	answer.Content = append(answer.Content, t.figures(ctx, r)...)
	answer.Content = append(answer.Content, links(r)...)
	return answer, out, nil
}

// short is the answer without logs.
func (t *tools) short(r result.Result) runOutput {
	out := runOutput{ID: r.ID, State: string(r.State), Warnings: warnings(r)}
	if r.State != outcome.Complete {
		out.Reason, out.Message = string(r.Reason), said(r.Reason, r.Message)
	}
	out.ExitCode = exitCode(r.State, r.ExitCode)
	if !r.State.Final() {
		out.Message = "wait_run waits for its end, stop_run stops it"
	}
	if hints := t.hints(r); len(hints) > 0 {
		out.Hints = hints
	}
	for _, o := range r.Outputs[:min(len(r.Outputs), mostNamed)] {
		out.Outputs = append(out.Outputs, named{o.Path, o.Size})
	}
	for _, x := range r.Rejected[:min(len(r.Rejected), mostNamed)] {
		out.Rejected = append(out.Rejected, refused{x.Path, string(x.Reason)})
	}
	out.OutputsTotal, out.RejectedTotal = beyond(r.OutputsTotal, len(out.Outputs)), beyond(r.RejectedTotal, len(out.Rejected))
	return out
}

// exitCode is that of an answer: nil if the run has not ended.
func exitCode(state outcome.State, code outcome.Code) *int {
	if !state.Final() {
		return nil
	}
	return (*int)(&code)
}

// beyond is a total that is more than what is shown, else 0.
func beyond(total int64, shown int) int64 {
	if total <= int64(shown) {
		return 0
	}
	return total
}

// addLogs adds the ends of the logs.
func (t *tools) addLogs(ctx context.Context, r result.Result, out *runOutput) error {
	if r.State == outcome.Queued {
		return nil
	}
	run, err := t.find(ctx, r.Key().String())
	if err != nil {
		return err
	}
	windows := [2]*window{tail(logsShown), tail(logsShown)}
	if _, err := t.copyLogs(ctx, run, windows); err != nil {
		return err
	}
	stdout, stderr := windows[0].part(), windows[1].part()
	out.Stdout, out.Stderr = stdout.Text, stderr.Text
	out.StdoutTotal, out.StderrTotal = beyond(stdout.Total, int(stdout.Next-stdout.Offset)), beyond(stderr.Total, int(stderr.Next-stderr.Offset))
	return nil
}

// text is what a model reads. The logs come last: nothing that they say can pass for a line of the server.
func (out runOutput) text() string {
	var b strings.Builder
	b.WriteString(out.State)
	if out.Message != "" {
		b.WriteString(": " + out.Message)
	}
	fmt.Fprintf(&b, "\nrun: %s\n", out.ID)
	for _, h := range out.Hints {
		fmt.Fprintf(&b, "hint: %s\n", h.Message)
	}
	for _, w := range out.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", format.Line(w, mostName))
	}
	var outputs, rejected []string
	for _, o := range out.Outputs {
		outputs = append(outputs, fmt.Sprintf("%s (%s)", format.Line(o.Path, mostName), format.Size(o.Size)))
	}
	for _, r := range out.Rejected {
		rejected = append(rejected, fmt.Sprintf("%s (%s)", format.Line(r.Path, mostName), r.Reason))
	}
	writeNames(&b, "outputs", outputs, out.OutputsTotal)
	writeNames(&b, "no outputs", rejected, out.RejectedTotal)
	writeLog(&b, "stdout", out.Stdout, out.StdoutTotal)
	writeLog(&b, "stderr", out.Stderr, out.StderrTotal)
	return b.String()
}

// writeNames writes names in a line. total is 0 if they are all.
func writeNames(b *strings.Builder, title string, names []string, total int64) {
	if len(names) == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %s", title, strings.Join(names, ", "))
	if total > 0 {
		fmt.Fprintf(b, " and %d more", total-int64(len(names)))
	}
	b.WriteString("\n")
}

// writeLog writes the end of a log. total is 0 if it is all.
func writeLog(b *strings.Builder, title, text string, total int64) {
	if text == "" {
		return
	}
	b.WriteString(title)
	if total > 0 {
		fmt.Fprintf(b, ", the end of %s", format.Size(total))
	}
	fmt.Fprintf(b, ":\n%s", text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("\n")
	}
}
