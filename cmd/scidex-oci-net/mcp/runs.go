package mcp

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

const (
	runsListed = 20 // by default
	mostRuns   = 100
)

// runName names a run.
type runName struct {
	Run string `json:"run" jsonschema:"ID, ID@ATTEMPT or @last"`
}

// getRun answers with a run as it is now.
func (t *tools) getRun(ctx context.Context, _ *mcp.CallToolRequest, in runName) (*mcp.CallToolResult, verdict, error) {
	r, err := t.Engine.Show(ctx, in.Run)
	if err != nil {
		return nil, verdict{}, t.refused(err)
	}
	return nil, t.verdict(r), nil
}

// listInput chooses runs.
type listInput struct {
	States  []string          `json:"states,omitempty" jsonschema:"some of complete, failed, canceled, error, lost, running, queued"`
	Reasons []string          `json:"reasons,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Text    string            `json:"text,omitempty" jsonschema:"that is in the request"`
	Limit   int               `json:"limit,omitempty" jsonschema:"1 to 100 (default 20)"`
}

// listOutput are runs.
type listOutput struct {
	Runs   []listed `json:"runs"`
	Queued []string `json:"queued" jsonschema:"ids of those that wait in this server"`
}

// listed is a run of a list.
type listed struct {
	ID           string            `json:"id"`
	Attempt      int               `json:"attempt"`
	State        string            `json:"state"`
	Reason       string            `json:"reason,omitempty"`
	Message      string            `json:"message,omitempty"`
	ExitCode     *int              `json:"exit_code,omitempty" jsonschema:"of a run that has ended"`
	CreatedAt    string            `json:"created_at"`
	OutputsTotal int64             `json:"outputs_total"`
	Labels       map[string]string `json:"labels"`
}

// listRuns lists runs of the catalog.
func (t *tools) listRuns(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, listOutput, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, listOutput{}, err
	}
	runs, err := t.Engine.List(ctx, filter)
	if err != nil {
		return nil, listOutput{}, err
	}
	out := listOutput{Runs: []listed{}, Queued: t.Engine.Queued()}
	for _, r := range runs {
		out.Runs = append(out.Runs, newListed(results.NewListed(r)))
	}
	return nil, out, nil
}

func newListed(r results.Listed) listed {
	l := listed{
		ID: r.ID, Attempt: r.Attempt, State: string(r.State), Reason: string(r.Reason), Message: said(r.Reason, r.Message), ExitCode: exitCode(r.State, r.ExitCode),
		OutputsTotal: r.OutputsTotal, Labels: r.Labels,
	}
	if r.CreatedAt != nil {
		l.CreatedAt = r.CreatedAt.Format("2006-01-02T15:04:05.000Z07:00")
	}
	return l
}

func (in listInput) filter() (f catalog.Filter, err error) {
	f = catalog.Filter{Limit: runsListed, Labels: in.Labels, Text: in.Text}
	if in.Limit != 0 {
		f.Limit = in.Limit
	}
	if f.Limit < 1 || f.Limit > mostRuns {
		return f, fmt.Errorf("limit %d: give a number of runs from 1 to %d", f.Limit, mostRuns)
	}
	if err := known("states", in.States, options.States()); err != nil {
		return f, err
	}
	for _, state := range in.States {
		f.States = append(f.States, outcome.State(state))
	}
	for _, reason := range in.Reasons {
		f.Reasons = append(f.Reasons, outcome.Reason(reason))
	}
	return f, known("reasons", in.Reasons, options.Reasons())
}

// known refuses words that are not in all.
func known(field string, given, all []string) error {
	for _, word := range given {
		if !slices.Contains(all, word) {
			near := cmp.Or(suggest.DidYouMean(word, all, ""), "; choose from "+strings.Join(all, ", "))
			return fmt.Errorf("%s: there is no %s%s", field, shown(word), near)
		}
	}
	return nil
}
