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

// knowStdin adds the standard input that is known before the start: of a request that may be answered by an earlier run,
// which must be compared, and of one that repeats a run and has none of its own.
func knowStdin(ctx context.Context, host *phase.Host, req request.Request) (request.Request, error) {
	var err error
	switch {
	case req.Stdin != nil && req.Reuse:
		req, err = readStdin(ctx, host, req)
	case req.Stdin == nil && (req.Again || req.Replay.ID != ""):
		req.KnownStdin, err = recordedStdin(ctx, host, req)
	}
	if err != nil {
		return req, request.Refusal(err)
	}
	return req, nil
}

func readStdin(ctx context.Context, host *phase.Host, req request.Request) (request.Request, error) {
	waiting, release := request.UntilStop(ctx, req.Stop, 0)
	known, err := stdin.Read(waiting, req.Stdin, host.Root)
	release() //nolint:errcheck // Read returns it
	req.Stdin, req.KnownStdin = nil, known
	return req, err
}

// recordedStdin is what the last run of the id, or the one that is replayed, has kept; nil where that is nothing.
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
