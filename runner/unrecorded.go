package runner

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

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
