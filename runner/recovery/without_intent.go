package recovery

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// cleanWithoutIntent removes what a launcher left that was killed before it could write its intent, and releases the lock: a worker's, of
// an analysis that is queued, or runs elsewhere by now. A run that has not ended otherwise is left to markLost.
func cleanWithoutIntent(ctx context.Context, p *pass, t *workspace.StateFile, run catalog.Run) error {
	location := t.Read(workspace.Location{})
	theirs := workspace.LocationOf(run).Launcher
	switch {
	case location.Launcher == nil || location.Ended || pending.Exists(p.Host, run.Key),
		location.Catalog != p.catalogID,
		theirs != nil && *theirs == *location.Launcher:
		return t.Leave()
	}
	p.record(location.Dir)
	if err := clean(ctx, p, location); err != nil || p.dry {
		return errors.Join(err, t.Close())
	}
	return t.Remove()
}
