package runner

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Bind makes sure that catalog and blob store belong together. A store that belongs to none yet is taken by
// the first that writes.
func Bind(ctx context.Context, host *phase.Host) error {
	ours, theirs, err := Match(ctx, host)
	if err == nil && theirs == "" {
		return host.Blobs.SetCatalogID(ctx, ours)
	}
	return err
}

// Match reads the ids of the catalog and of the one that the blob store belongs to, "" where that belongs to
// none yet. Where they differ it is an error: with another's store a commit would name blobs that are not
// there, and gc would remove blobs that are named elsewhere.
func Match(ctx context.Context, host *phase.Host) (ours, theirs string, err error) {
	if ours, err = host.Catalog.CatalogID(ctx); err != nil {
		return "", "", err
	}
	if theirs, err = host.Blobs.CatalogID(ctx); err != nil {
		return ours, "", err
	}
	if theirs != "" && theirs != ours {
		return ours, theirs, fmt.Errorf("the blob store belongs to catalog %s and this catalog is %s: give the --db and --blobs that belong together, or another --root for both", theirs, ours)
	}
	return ours, theirs, nil
}
