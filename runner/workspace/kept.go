package workspace

import (
	"context"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// SetAside renames the directory kept by the attempt before, so that this one can have its name.
func SetAside(ctx context.Context, host *phase.Host, key catalog.Key) error {
	kept, err := KeptBefore(ctx, host, key)
	if err != nil || !kept {
		return err // mkdir refuses a name that is taken
	}
	path := RunDir(host.Tmp, key.ID)
	return os.Rename(path, AsidePath(path, key.Attempt-1))
}

// KeptBefore reports whether the directory of the id is the one kept by the attempt before: the inode that the catalog
// recorded.
func KeptBefore(ctx context.Context, host *phase.Host, key catalog.Key) (bool, error) {
	if key.Attempt == 1 {
		return false, nil
	}
	run, err := host.Catalog.Get(ctx, catalog.Key{ID: key.ID, Attempt: key.Attempt - 1})
	if err != nil {
		return false, &request.CatalogError{Err: fmt.Errorf("look up attempt %d of %s: %w", key.Attempt-1, key.ID, err)}
	}
	location := LocationOf(run)
	return location.Dir == RunDir(host.Tmp, key.ID) && IsInode(location.Dir, location), nil
}
