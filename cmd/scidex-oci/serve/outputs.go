package serve

import (
	"context"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// mostEntries bounds an answer.
const mostEntries = 1000

// outputsParams are the parameters of outputs.
type outputsParams struct {
	ID    string `json:"id"`
	From  int    `json:"from"`  // how many to leave out
	Limit int    `json:"limit"` // how many at most
}

// outputsAnswer are entries in the order of their paths.
type outputsAnswer struct {
	Entries []any `json:"entries"`
	Next    int   `json:"next,omitempty"` // the next from; 0: these are the last
}

// outputs lists outputs and rejected entries of a run.
func (p *peer) outputs(ctx context.Context, r rpc.Request) (any, error) {
	params := outputsParams{Limit: mostEntries}
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	if params.From < 0 || params.Limit < 1 || params.Limit > mostEntries {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params: from %d, limit %d: give a number from 0 on, and one from 1 to %d", params.From, params.Limit, mostEntries)
	}
	run, err := p.Engine.Find(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	entries, next, err := p.Engine.Outputs(ctx, run, params.From, params.Limit)
	if err != nil {
		return nil, err
	}
	answer := outputsAnswer{Entries: []any{}, Next: next}
	for _, e := range entries {
		answer.Entries = append(answer.Entries, results.NewEntry(e))
	}
	return answer, nil
}

// exportParams are the parameters of export.
type exportParams struct {
	ID        string `json:"id"`
	Directory string `json:"directory"`
	Overwrite bool   `json:"overwrite"`
}

// exported is the answer to export.
type exported struct {
	Directory string `json:"directory"` // absolute
	Outputs   int64  `json:"outputs"`
	Warning   string `json:"warning,omitempty"` // of outputs that are not written
}

// export writes the outputs of a run and its result into a directory.
func (p *peer) export(ctx context.Context, r rpc.Request) (any, error) {
	var params exportParams
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	if params.Directory == "" {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params: directory is missing; give one that is empty or can be made")
	}
	run, err := p.Engine.Find(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	dir := options.Absolute(p.Program.Options.Dir, params.Directory)
	left, err := p.Engine.Export(ctx, run, dir, params.Overwrite)
	if err != nil {
		return nil, err
	}
	return exported{dir, run.OutputsTotal - left.Count, left.Warning()}, nil
}
