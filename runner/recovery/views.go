package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/runner/deliver"
)

// sweepViews removes killed launchers' copies for hooks.
func (c *collector) sweepViews(ctx context.Context) {
	removed, err := deliver.SweepViews(ctx, c.Root, c.dry)
	c.report.Removed = append(c.report.Removed, removed...)
	if err != nil {
		c.report.Errors = append(c.report.Errors, err)
	}
}
