package recovery

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
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
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
	return c.remove(dir, func() error { return cgroup.RemoveDirs([]string{dir}) })
}

// remove removes something, dry only in the report; failed removals are not reported as such.
func (c *collector) remove(what string, do func() error) error {
	if !c.dry {
		if err := do(); err != nil {
			return err
		}
	}
	c.report.Removed = append(c.report.Removed, what)
	return nil
}

// keepDir makes an uncommitted result readable for the caller, as --keep does.
func (c *collector) keepDir(ctx context.Context, place workspace.Location) error {
	if is, err := workspace.LookInode(place.Dir, place); err != nil || !is {
		return err
	}
	c.report.Kept = append(c.report.Kept, place.Dir)
	if c.dry {
		return nil
	}
	if err := c.own(ctx, place); err != nil {
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
	return w.Keep(ctx, c.account, phase.Links(true, true))
}

// own makes a run's directory and its contents the user's; root needs no supervisor for that.
func (c *collector) own(ctx context.Context, place workspace.Location) error {
	if c.account.Root() {
		return nil
	}
	dir, err := workspace.OpenInode(place.Dir, place)
	if err != nil {
		return err
	}
	defer dir.Close()
	supervisor, err := c.launch(ctx)
	if err != nil {
		return err
	}
	_, err = supervisor.Clean(dir, true, nil)
	return err
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
	if place.Ino == 0 && int(st.Uid) == c.account.UID && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return c.removeEmpty(place.Dir)
	}
	if is, err := workspace.LookInode(place.Dir, place); err != nil || !is {
		return err // nil: somebody else's by now
	}
	return c.remove(place.Dir, func() error { return c.removeDir(ctx, place.Dir, place) })
}

func (c *collector) removeEmpty(dir string) error {
	if c.dry {
		return nil
	}
	// The launcher may have made /work.
	err := errors.Join(workspace.Ignore(unix.Rmdir(filepath.Join(dir, workspace.WorkName)), unix.ENOENT), unix.Rmdir(dir))
	if errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	if err == nil {
		c.report.Removed = append(c.report.Removed, dir)
	}
	return err
}

// removeDir removes a run's directory, whatever ids its files have: root directly, a user through a supervisor.
func (c *collector) removeDir(ctx context.Context, path string, place workspace.Location) error {
	dir, err := workspace.OpenInode(path, place)
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
		return fmt.Errorf("remove %q: %w", path, err)
	}
	if err := unix.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func (c *collector) emptyThroughSupervisor(ctx context.Context, dir *os.File) error {
	supervisor, err := c.launch(ctx)
	if err != nil {
		return err
	}
	_, err = supervisor.Clean(dir, false, nil)
	return err
}

// launch returns the collector's supervisor, started on first use.
func (c *collector) launch(ctx context.Context) (_ *sandbox.Supervisor, err error) {
	if c.supervisor != nil {
		return c.supervisor, nil
	}
	supervisor, err := sandbox.Launch(ctx, c.account)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = supervisor.Close() }) // the wait is over
	c.supervisor = supervisor
	return supervisor, nil
}

func (c *collector) close() {
	if c.supervisor != nil {
		_ = c.supervisor.Close() // it has nothing left to do
	}
}
