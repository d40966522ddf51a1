package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// sweep removes the control group and the directory of a place. A directory with the result of a run
// that was not committed stays.
func (c *collector) sweep(ctx context.Context, place Place) error {
	for _, group := range place.Groups {
		if err := c.sweepGroup(group); err != nil {
			return err
		}
	}
	if place.Ended {
		if isInode(place.Dir, place) {
			c.report.Kept = append(c.report.Kept, place.Dir)
		}
		return nil
	}
	return c.sweepDir(ctx, place)
}

func (c *collector) sweepGroup(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.report.Removed = append(c.report.Removed, dir)
	if c.dry {
		return nil
	}
	return cgroup.RemoveDirs([]string{dir})
}

// sweepDir removes a directory that is the recorded inode; one without a recorded inode (the launcher
// was killed in between) only if it is empty and the user's own.
func (c *collector) sweepDir(ctx context.Context, place Place) error {
	var st unix.Stat_t
	if gone := place.Dir == "" || unix.Lstat(place.Dir, &st) != nil; gone {
		return nil
	}
	if place.Ino == 0 && int(st.Uid) == c.account.UID && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return c.removeEmpty(place.Dir)
	}
	if !isInode(place.Dir, place) {
		return nil // somebody else's by now
	}
	c.report.Removed = append(c.report.Removed, place.Dir)
	if c.dry {
		return nil
	}
	return c.removeDir(ctx, place.Dir)
}

func (c *collector) removeEmpty(dir string) error {
	if c.dry {
		return nil
	}
	// The launcher may have come as far as /work.
	err := errors.Join(ignore(unix.Rmdir(filepath.Join(dir, workName)), unix.ENOENT), unix.Rmdir(dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	if err == nil {
		c.report.Removed = append(c.report.Removed, dir)
	}
	return err
}

func ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// removeDir removes a run's directory with whatever ids its files have: root can by itself, a user
// through a supervisor.
func (c *collector) removeDir(ctx context.Context, path string) (err error) {
	dir, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if c.account.Root() {
		err = outputs.Empty(ctx, dir)
	} else {
		err = c.emptyThroughSupervisor(ctx, dir)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return unix.Rmdir(path)
}

func (c *collector) emptyThroughSupervisor(ctx context.Context, dir *os.File) (err error) {
	if c.supervisor == nil {
		if c.supervisor, err = sandbox.Launch(ctx, c.account); err != nil {
			return err
		}
	}
	return c.supervisor.Clean(dir, false)
}

func (c *collector) close() {
	if c.supervisor != nil {
		_ = c.supervisor.Close() // it has nothing left to do
	}
}
