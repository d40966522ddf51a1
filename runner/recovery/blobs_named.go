package recovery

import (
	"context"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// readNamed returns the digests that runs name, in a dry run as they would be named afterwards.
func readNamed(ctx context.Context, p *pass, expired expiredRuns) (*blob.Digests, error) {
	named := &blob.Digests{}
	note := func(sha256 string) bool {
		named.Add(sha256)
		return true
	}
	// Before the catalog is read: what is committed in between is in one of the two.
	if err := pending.Digests(p.Host, note); err != nil {
		return nil, err
	}
	if !p.dry || len(expired.Runs) == 0 {
		return named, p.Catalog.Digests(ctx, note)
	}
	return named, eachRun(ctx, p.Catalog, catalog.Filter{}, func(run catalog.Run) error {
		gone := expired.Runs[run.Key]
		if gone && !expired.OutputsOnly {
			return nil
		}
		for _, sha256 := range run.Blobs {
			note(sha256)
		}
		if gone || !run.OutputsRemovedAt.IsZero() {
			return nil
		}
		err := p.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool { return e.Rejected != "" || note(e.SHA256) })
		return workspace.Ignore(err, catalog.ErrNotFound) // it was just removed
	})
}
