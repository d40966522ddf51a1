package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/recovery/retention"
)

// GCReport is what gc did or, dry, would do.
type GCReport = pass.Report

// Retention says which runs gc expires.
type Retention = retention.Policy

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
	p, err := pass.New(ctx, host, dryRun)
	if err != nil {
		return GCReport{}, err
	}
	defer p.Close()
	err = collect(ctx, p, policy)
	return p.Report, err
}

// collect is what gc does, in order.
func collect(ctx context.Context, p *pass.Pass, policy Retention) error {
	if err := settle(ctx, p); err != nil {
		return err
	}
	cleanEnded(ctx, p)
	expired, err := retention.Apply(ctx, p, policy)
	if err != nil {
		return err
	}
	findForeign(ctx, p)
	sweepViews(ctx, p)
	p.Report.Fail(sweepBlobs(ctx, p, expired))
	return nil
}
