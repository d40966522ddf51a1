package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs/stdin"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// repeating gives a request that repeats a run, and has no standard input of its own, the standard input of that run.
type repeating struct {
	Runner
	host *phase.Host
}

// Run looks the run up.
func (r repeating) Run(ctx context.Context, req request.Request) (result.Result, error) {
	if req.Stdin != nil || !req.Again && req.Replay.ID == "" {
		return r.Runner.Run(ctx, req)
	}
	known, err := recordedStdin(ctx, r.host, req)
	if err != nil {
		err = request.Refusal(err)
		return Refused(req.Analysis, err, r.host.Version), err
	}
	if known != nil {
		defer known.Close() //nolint:errcheck // it was only read
		req.Stdin = known
	}
	return r.Runner.Run(ctx, req)
}

// recordedStdin is what the last run of the id, or the one that is replayed, has kept; nil if it has kept nothing.
func recordedStdin(ctx context.Context, host *phase.Host, req request.Request) (*stdin.Known, error) {
	key := req.Replay
	if req.Again {
		key = catalog.Key{ID: req.Analysis.ID}
	}
	run, err := host.Catalog.Get(ctx, key)
	if errors.Is(err, catalog.ErrNotFound) {
		return nil, nil // the check of the request says so
	}
	if err != nil {
		return nil, &request.CatalogError{Err: fmt.Errorf("look up %s: %w", key.ID, err)}
	}
	report, err := result.ReportOf(run)
	if err != nil || report.Stdin == nil {
		return nil, err
	}
	return openStdin(ctx, host, *report.Stdin)
}

func openStdin(ctx context.Context, host *phase.Host, kept result.Stdin) (*stdin.Known, error) {
	path, err := plan.Fetch(ctx, host, kept.SHA256)
	if err != nil {
		return nil, fmt.Errorf("the standard input that was recorded: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &stdin.Known{File: file, Bytes: kept.Bytes, SHA256: kept.SHA256}, nil
}
