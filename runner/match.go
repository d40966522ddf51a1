package runner

import (
	"context"
	"fmt"
)

// match makes sure that catalog and blob store belong together: with another's store a commit would name
// blobs that are not there, and gc would remove blobs that are named elsewhere. A store that belongs to
// none yet is taken by the first that writes.
func (r *Runner) match(ctx context.Context) error {
	ours, err := r.Catalog.CatalogID(ctx)
	if err != nil {
		return err
	}
	theirs, err := r.Blobs.CatalogID()
	switch {
	case err != nil:
		return err
	case theirs == "":
		return r.Blobs.SetCatalogID(ours)
	case theirs != ours:
		return fmt.Errorf("the blob store belongs to catalog %s and this catalog is %s: give the --db and --blobs that belong together", theirs, ours)
	}
	return nil
}
