package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Print runs an analysis of scidex-oci's own and returns what it printed, at most so many bytes. It has no row and keeps nothing. It is
// stopped when ctx ends.
func Print(ctx context.Context, host *phase.Host, a spec.Analysis, most int) ([]byte, error) {
	launched, err := warm.Begin(ctx, a.Limits)
	if err != nil {
		return nil, err
	}
	stop := make(chan request.StopSignal, 1)
	defer context.AfterFunc(ctx, func() { stop <- request.StopSignal{Name: "the end of its caller", Now: true} })()
	printed := bounded.Head(most)
	ended, err := runUnrecorded(context.WithoutCancel(ctx), host, request.Request{Analysis: a, Stdout: printed, Stop: stop, Switches: request.Switches{NoAudit: true}}, launched)
	switch {
	case err != nil:
		return nil, err
	case !ended.Exit.Executed && ended.Exit.Errno != 0:
		return nil, fmt.Errorf("%s cannot be executed: %w", a.Command[0], ended.Exit.Errno)
	case ended.Exit.TimedOut:
		return nil, fmt.Errorf("it was not done within %s", a.Timeout)
	case !ended.Exit.Ended || ended.Exit.Status != 0:
		return nil, fmt.Errorf("it ended with status %#x: %s", ended.Exit.Status, ended.StderrEnd)
	case printed.Cut():
		return nil, fmt.Errorf("more than %d bytes were printed", most)
	}
	return printed.Bytes(), nil
}

// runUnrecorded runs an analysis of scidex-oci's own: it has no row and keeps nothing. The error says why it could not be run to
// its end.
func runUnrecorded(ctx context.Context, host *phase.Host, req request.Request, launched *warm.Sandbox) (phase.Ended, error) {
	ctx = spans.With(ctx, nil)
	r, err := beginIn(ctx, host, unrecorded{host.Catalog}, req, launched)
	if err != nil {
		launched.Drop()
		return phase.Ended{}, err
	}
	defer launched.StopWarming()
	defer r.closeInputs()
	end, _ := r.execute(ctx)
	r.clean(ctx, end)
	if end.Failure != nil {
		return end.Ended, end.Failure.Err
	}
	return end.Ended, nil
}

// unrecorded is the ledger of a run without a row. What a killed one leaves is found by its state file.
type unrecorded struct{ phase.Ledger }

func (unrecorded) Create(context.Context, catalog.Run) error { return nil }

func (unrecorded) Update(context.Context, catalog.Run) error { return nil }
