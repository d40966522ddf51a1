package rundir

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Kept returns the directory of a run whose working directory was kept, or "".
func Kept(run catalog.Run) string {
	res, err := result.New(run)
	if err != nil {
		return ""
	}
	return res.Kept
}

// RemoveKept removes the kept directory under either of its names, if it still is the recorded inode.
func RemoveKept(ctx context.Context, run catalog.Run) error {
	location := workspace.LocationOf(run)
	if location.Dir == "" {
		return nil
	}
	account, err := idmap.ReadAccount()
	if err != nil {
		return err
	}
	access := For(account)
	defer access.Close()
	for _, path := range []string{location.Dir, workspace.AsidePath(location.Dir, run.Attempt)} {
		is, err := workspace.LookInode(path, location)
		if err == nil && !is {
			continue
		}
		if err == nil {
			err = access.Remove(ctx, path, location)
		}
		if err != nil {
			return fmt.Errorf("its kept directory %q, or a part of it, is still there, and its record too: %w; "+
				"remove the cause and run rm again", path, err)
		}
	}
	return nil
}
