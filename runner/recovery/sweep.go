package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// sweep removes the control group and the directory of a location. A directory with an uncommitted result stays.
func (c *collector) sweep(ctx context.Context, place workspace.Location) error {
	for _, group := range place.Groups {
		if err := c.sweepGroup(group); err != nil {
			return err
		}
	}
	if place.Ended {
		return c.keepDir(ctx, place)
	}
	return c.sweepDir(ctx, place)
}

func (c *collector) sweepGroup(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return c.Remove(dir, func() error { return cgroup.RemoveDirs([]string{dir}) })
}

// keepDir makes an uncommitted result readable for the caller, as --keep does.
func (c *collector) keepDir(ctx context.Context, place workspace.Location) error {
	if is, err := workspace.LookInode(place.Dir, place); err != nil || !is {
		return err
	}
	c.Report.Kept = append(c.Report.Kept, place.Dir)
	if c.Dry {
		return nil
	}
	if err := c.Access.Own(ctx, place); err != nil {
		return err
	}
	w, err := workspace.OpenWorkdir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has been done
	}
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Keep(ctx, c.Access.Account, phase.Links(true, true))
}

// sweepDir removes a directory that is the recorded inode; one without a recorded inode (the launcher was killed in between)
// only if it is empty and the user's own.
func (c *collector) sweepDir(ctx context.Context, place workspace.Location) error {
	var st unix.Stat_t
	if place.Dir == "" {
		return nil
	}
	if err := unix.Lstat(place.Dir, &st); err != nil {
		return workspace.Ignore(&fs.PathError{Op: "lstat", Path: place.Dir, Err: err}, fs.ErrNotExist)
	}
	if place.Ino == 0 && int(st.Uid) == c.Access.Account.UID && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return c.removeEmpty(place.Dir)
	}
	if is, err := workspace.LookInode(place.Dir, place); err != nil || !is {
		return err // nil: somebody else's by now
	}
	return c.Remove(place.Dir, func() error { return c.Access.Remove(ctx, place.Dir, place) })
}

func (c *collector) removeEmpty(dir string) error {
	if c.Dry {
		return nil
	}
	// The launcher may have made /work.
	err := errors.Join(workspace.Ignore(unix.Rmdir(filepath.Join(dir, workspace.WorkName)), unix.ENOENT), unix.Rmdir(dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	if err == nil {
		c.Report.Removed = append(c.Report.Removed, dir)
	}
	return err
}
