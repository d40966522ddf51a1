package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/deliver"
)

// sweepViews removes killed launchers' copies for hooks.
func (c *collector) sweepViews(ctx context.Context) {
	removed, err := deliver.SweepViews(ctx, c.Root, c.Dry)
	c.Report.Removed = append(c.Report.Removed, removed...)
	c.Report.Fail(err)
}
