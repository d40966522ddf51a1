package phase

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Ledger is where a run is recorded: its intent, its location, its end, and what came after that. A catalog.Catalog is one,
// and says more about each call.
type Ledger interface {
	// CatalogID identifies the catalog.
	CatalogID(ctx context.Context) (string, error)
	// Create writes the intent row. An existing run is catalog.ErrExists.
	Create(ctx context.Context, run catalog.Run) error
	// Update records the location of a run that has not ended.
	Update(ctx context.Context, run catalog.Run) error
	// Commit ends a run with its outputs; it is idempotent by the run's key. A run that has ended otherwise is
	// catalog.ErrEnded, or ErrSuperseded if another attempt has taken over: then the result is of no use.
	Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error
	// Amend changes the outcome of an ended run.
	Amend(ctx context.Context, run catalog.Run) error
}

// ErrSuperseded says that another attempt has taken over the analysis, so that the result of this one is dropped.
var ErrSuperseded = errors.New("another attempt has taken over the analysis")
