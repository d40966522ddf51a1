package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
)

// sweepIngests removes the ingest directories of dead launchers, except those that spare names.
func sweepIngests(p *pass.Pass, spare func(name string) bool) {
	act := p.Blobs.CleanIngests
	if p.Dry {
		act = p.Blobs.DeadIngests
	}
	removed, err := act(spare)
	p.Report.Removed = append(p.Report.Removed, removed...)
	p.Report.Fail(err)
}

// sweepViews removes killed launchers' copies for hooks.
func sweepViews(ctx context.Context, p *pass.Pass) {
	removed, err := deliver.SweepViews(ctx, p.Root, p.Dry)
	p.Report.Removed = append(p.Report.Removed, removed...)
	p.Report.Fail(err)
}
