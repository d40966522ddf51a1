package spooled

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Line is one analysis: lines/N.json.
type Line struct {
	Number    int               `json:"line"` // in the file, from 1
	ID        string            `json:"id"`
	Attempt   int               `json:"attempt"`
	CreatedAt time.Time         `json:"created_at"`
	Labels    map[string]string `json:"labels,omitempty"`
	Request   json.RawMessage   `json:"request"` // the spec.Analysis as requested, all paths absolute
}

// Lines ties lines of a batch to the catalog of host, each with the next free attempt, and returns the catalog's id. At adds the
// number of a line to its error.
func Lines(ctx context.Context, host *phase.Host, from []dispatch.Line, at func(number int, err error) error) (lines []Line, catalogID string, err error) {
	if catalogID, _, err = store.Match(ctx, host.Catalog, host.Blobs); err != nil {
		return nil, "", err
	}
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil { // before there are results to collect
		return nil, "", err
	}
	var bad error
	for _, line := range from {
		row, err := plan.NewQueued(ctx, host, line.Analysis)
		if err != nil {
			bad = errors.Join(bad, at(line.Number, err))
			continue
		}
		lines = append(lines, Line{
			Number: line.Number, ID: row.ID, Attempt: row.Attempt, CreatedAt: row.CreatedAt.Truncate(time.Millisecond), Labels: row.Labels, Request: row.Request,
		})
	}
	return lines, catalogID, bad
}

// Key is that of the run in the catalog.
func (l Line) Key() catalog.Key { return catalog.Key{ID: l.ID, Attempt: l.Attempt} }

// Run is the run of a line that ends now and has no outputs.
func (l Line) Run(o outcome.Outcome, report json.RawMessage) catalog.Run {
	return catalog.Run{
		Key: l.Key(), Outcome: o, CreatedAt: l.CreatedAt, FinishedAt: catalog.Run{CreatedAt: l.CreatedAt}.EndsNow(), Labels: l.Labels,
		Request: filled(l.Request), Report: report,
	}
}

// filled is a request with its defaults, as a run has it; as it is if it cannot be read.
func filled(request json.RawMessage) json.RawMessage {
	var a spec.Analysis
	if json.Unmarshal(request, &a) != nil {
		return request
	}
	all, err := json.Marshal(a.WithDefaults())
	if err != nil {
		return request
	}
	return all
}
