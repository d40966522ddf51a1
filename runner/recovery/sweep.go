package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
)

// sweepIngests removes the ingest directories of dead launchers, except those that spare names, and returns those that are held.
func sweepIngests(p *pass.Pass, spare func(name string) bool) (held []string) {
	act := p.Blobs.CleanIngests
	if p.Dry {
		act = p.Blobs.DeadIngests
	}
	removed, held, err := act(spare)
	p.Report.Removed = append(p.Report.Removed, removed...)
	p.Report.Fail(err)
	return held
}

// sweepViews removes killed launchers' copies for hooks.
func sweepViews(ctx context.Context, p *pass.Pass) {
	removed, err := deliver.SweepViews(ctx, p.Root, p.Dry)
	p.Report.Removed = append(p.Report.Removed, removed...)
	p.Report.Fail(err)
}
