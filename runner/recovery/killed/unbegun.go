package killed

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// CleanUnbegun removes what a launcher left that was killed before it could write its intent, and releases the lock: a worker's, of
// an analysis that is queued, or runs elsewhere by now. A run that has not ended otherwise is left to MarkLost.
func CleanUnbegun(ctx context.Context, p *pass.Pass, t *workspace.StateFile, run catalog.Run) error {
	location := t.Read(workspace.Location{})
	theirs := workspace.LocationOf(run).Launcher
	switch {
	case location.Launcher == nil || location.Ended || pending.Exists(p.Host, run.Key),
		location.Catalog != p.CatalogID,
		theirs != nil && *theirs == *location.Launcher:
		return t.Leave()
	}
	p.Record(location.Dir)
	if err := clean(ctx, p, location); err != nil || p.Dry {
		return errors.Join(err, t.Close())
	}
	return t.Remove()
}
