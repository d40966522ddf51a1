package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// GC removes what killed runs of this root and user left. It touches only what a run of this catalog or a state file of this
// root records, by device and inode, and nothing of a live run. A committed result stays unless retention expires it; a
// caller who may not delete is refused before anything is touched.
func GC(ctx context.Context, host *phase.Host, dryRun bool, policy Retention) (GCReport, error) {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return GCReport{}, err
	}
	if policy.Asked() {
		if err := mayDelete(ctx, host.Catalog); err != nil {
			return GCReport{}, err
		}
	}
	p, err := newPass(ctx, host, dryRun)
	if err != nil {
		return GCReport{}, err
	}
	defer p.close()
	err = collect(ctx, p, policy)
	return p.report, err
}

// collect is what gc does, in order.
func collect(ctx context.Context, p *pass, policy Retention) error {
	if err := endDeadRuns(ctx, p); err != nil {
		return err
	}
	sweepStateFiles(ctx, p)
	expired, err := expireRuns(ctx, p, policy)
	if err != nil {
		return err
	}
	findForeign(ctx, p)
	sweepViews(ctx, p)
	p.report.fail(sweepBlobs(ctx, p, expired))
	return nil
}
