package recovery

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/phase"
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

// removeRun removes a run's kept directory and its row.
func removeRun(ctx context.Context, host *phase.Host, run catalog.Run) error {
	left, err := removeKept(ctx, run)
	if err == nil {
		err = host.Catalog.Delete(ctx, run.Key)
	}
	if err == nil && left != "" {
		host.Log.Warn(left, "run", run.Key)
	}
	return err
}

// removeKept removes the kept directory under either of its names, if it still is the recorded inode. What it leaves is said in a
// sentence, or empty.
func removeKept(ctx context.Context, run catalog.Run) (left string, err error) {
	location := workspace.LocationOf(run)
	if location.Dir == "" {
		return "", nil
	}
	account, err := idmap.ReadAccount()
	if err != nil {
		return "", err
	}
	reach := &access{account: account}
	defer reach.close()
	for _, path := range []string{location.Dir, workspace.AsidePath(location.Dir, run.Attempt)} {
		is, err := workspace.LookInode(path, location)
		if err == nil && !is {
			left = cmp.Or(left, onOtherDevice(path, location))
			continue
		}
		if err == nil {
			err = reach.remove(ctx, path, location)
		}
		if err != nil {
			return "", fmt.Errorf("its kept directory %q, or a part of it, is still there, and its record too: %w; "+
				"remove the cause and run rm again", path, err)
		}
	}
	return left, nil
}

// onOtherDevice says that there is a directory, which the record cannot tell from another one: a file system that was mounted anew may
// have another device number (stat(2)).
func onOtherDevice(path string, location workspace.Location) string {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || location.Ino == 0 || st.Dev == location.Dev {
		return ""
	}
	return fmt.Sprintf("the directory %q stays: it is on another device than the one that the run had, which was perhaps mounted anew, and so it may be another; "+
		"look at it, and remove it yourself", path)
}
