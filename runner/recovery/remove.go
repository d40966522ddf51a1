package recovery

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// keptDir returns the directory of a run whose working directory was kept, or "".
func keptDir(run catalog.Run) string {
	res, err := result.New(run)
	if err != nil {
		return ""
	}
	return res.Kept
}

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
	if err := removeKept(ctx, host, run); err != nil {
		return err
	}
	return host.Catalog.Delete(ctx, run.Key)
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

// removeKept removes the kept directory under either of its names, if it still is the recorded inode.
func removeKept(ctx context.Context, host *phase.Host, run catalog.Run) error {
	place := workspace.LocationOf(run)
	if place.Dir == "" {
		return nil
	}
	account, err := idmap.ReadAccount()
	if err != nil {
		return err
	}
	c := &collector{Host: host, account: account}
	defer c.close()
	for _, path := range []string{place.Dir, workspace.AsidePath(place.Dir, run.Attempt)} {
		is, err := workspace.LookInode(path, place)
		if err == nil && !is {
			continue
		}
		if err == nil {
			err = c.removeDir(ctx, path, place)
		}
		if err != nil {
			return fmt.Errorf("its kept directory %q, or a part of it, is still there, and its record too: %w; "+
				"put right what stands in the way and run rm again", path, err)
		}
	}
	return nil
}
