package store

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Bind makes sure that catalog and blob store belong together. The first writer binds an unbound store.
func Bind(ctx context.Context, c catalog.Catalog, blobs *blob.Store) error {
	ours, theirs, err := Match(ctx, c, blobs)
	if err == nil && theirs == "" {
		return blobs.SetCatalogID(ctx, ours)
	}
	return err
}

// Match reads the ids of the catalog and of the blob store's catalog, "" if that has none yet. Different ids are an error:
// with another's store a commit would name blobs that are not there, and gc would remove blobs that are named elsewhere.
func Match(ctx context.Context, c catalog.Catalog, blobs *blob.Store) (ours, theirs string, err error) {
	if ours, err = c.CatalogID(ctx); err != nil {
		return "", "", err
	}
	if theirs, err = blobs.CatalogID(ctx); err != nil {
		return ours, "", err
	}
	if theirs != "" && theirs != ours {
		return ours, theirs, fmt.Errorf("the blob store belongs to catalog %s and this catalog is %s: give the --db and --blobs that belong together, or another --root for both", theirs, ours)
	}
	return ours, theirs, nil
}
