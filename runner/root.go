package runner

import (
	"context"
	"fmt"
)

// vouch puts the digest of a checked root filesystem into the result.
func (e *execution) vouch() error {
	b := e.plan.Base
	if err := b.Sound(); err != nil {
		return err
	}
	if b != nil && b.Image != nil {
		digest := b.Image.Digest.String()
		e.report.Sandbox.RootfsDigest = &digest
	}
	return nil
}

// mendRoot repairs the analysis' root, and reports it.
func (e *execution) mendRoot(ctx context.Context) error {
	mended, err := e.plan.Base.Mend(ctx)
	if mended {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf(
			"the root filesystem of image %q had been changed, and was made anew from its layers before the start", e.plan.Base.Image.Image.Name))
	}
	return err
}
