package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

const (
	listed   = 50   // runs, by default
	mostRuns = 1000 // in one answer
)

// listParams choose runs, as the flags of ls do.
type listParams struct {
	Since   *time.Time        `json:"since"` // created at or after
	Until   *time.Time        `json:"until"` // created before
	States  []string          `json:"states"`
	Reasons []string          `json:"reasons"`
	Labels  map[string]string `json:"labels"`
	Text    string            `json:"text"`
	Limit   int               `json:"limit"`
}

// list is the answer to list.
type list struct {
	Runs   []results.Listed `json:"runs"`   // of the catalog, the newest first
	Queued []string         `json:"queued"` // ids of those that wait in this engine
}

// list lists runs.
func (p *peer) list(ctx context.Context, r rpc.Request) (any, error) {
	params := listParams{Limit: listed}
	if bad := r.Read(&params); bad != nil {
		return nil, bad
	}
	filter, err := params.filter()
	if err != nil {
		return nil, err
	}
	runs, err := p.Engine.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	answer := list{Runs: []results.Listed{}, Queued: p.Engine.Queued()}
	for _, run := range runs {
		answer.Runs = append(answer.Runs, results.NewListed(run))
	}
	return answer, nil
}

// filter checks the parameters.
func (l listParams) filter() (f catalog.Filter, err error) {
	if l.Limit < 1 || l.Limit > mostRuns {
		return f, rpc.Errorf(rpc.CodeInvalidParams, "params: limit %d: give a number of runs from 1 to %d", l.Limit, mostRuns)
	}
	f = catalog.Filter{Limit: l.Limit, Labels: l.Labels, Text: l.Text}
	for _, state := range l.States {
		if !slices.Contains(options.States(), state) {
			return f, rpc.Errorf(rpc.CodeInvalidParams, "params: states: %q is no state; choose from %s", state, strings.Join(options.States(), ", "))
		}
		f.States = append(f.States, outcome.State(state))
	}
	for _, reason := range l.Reasons {
		if !slices.Contains(options.Reasons(), reason) {
			return f, rpc.Errorf(rpc.CodeInvalidParams, "params: reasons: %q is no reason; choose from %s", reason, strings.Join(options.Reasons(), ", "))
		}
		f.Reasons = append(f.Reasons, outcome.Reason(reason))
	}
	if l.Since != nil {
		f.Since = *l.Since
	}
	if l.Until != nil {
		f.Until = *l.Until
	}
	return f, nil
}
