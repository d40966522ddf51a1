package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Remove deletes an ended run: its kept directory and its rows. Blobs stay: another run may name them.
func Remove(ctx context.Context, host *phase.Host, key catalog.Key) (err error) {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return err
	}
	run, err := host.Catalog.Get(ctx, key)
	if err != nil {
		return err
	}
	if !run.State.Final() {
		return fmt.Errorf("run %s is %s; wait for its end, or run gc if it was killed", run.Key, run.State)
	}
	if run.Pinned {
		return Pinned(run.Key)
	}
	release, err := workspace.LockEnded(host, run.Key)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := mayDelete(ctx, host.Catalog); err != nil {
		return err
	}
	return removeRun(ctx, host, run)
}

// Pinned is the refusal to remove a pinned run.
func Pinned(key catalog.Key) error {
	return fmt.Errorf("run \"%s\" is pinned; take that back with \"scidex-oci unpin %s\" first", key, key)
}

// mayDelete asks a catalog with roles whether the caller may delete: else the kept directory would be removed but the run
// still there.
func mayDelete(ctx context.Context, c catalog.Catalog) error {
	if c, ok := c.(interface{ MayDelete(context.Context) error }); ok {
		return c.MayDelete(ctx)
	}
	return nil
}
