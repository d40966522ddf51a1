package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/owned"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// Workdir is a run's directory on the host and its part that is /work, both by descriptor.
type Workdir struct {
	Path            string
	base, Dir, Work *os.File // base: the parent of Dir; nil where another process made Dir
	Dev, Ino        uint64
}

// MakeWorkdir makes the run's directory with one mkdir: an existing name is an error, and what has it stays as it is. Its parent is opened
// once, so that it cannot be replaced meanwhile. uid and gid are who may enter /work besides root until the supervisor hands
// it on.
func MakeWorkdir(path string, uid, gid int) (_ *Workdir, err error) {
	w := &Workdir{Path: path}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.base, err = inode.Open(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the working directory: %w", err)
	}
	base, name := int(w.base.Fd()), filepath.Base(path)
	if err := unix.Mkdirat(base, name, 0o700); err != nil {
		return nil, fmt.Errorf("make the working directory: %w", &fs.PathError{Op: "mkdir", Path: path, Err: err})
	}
	if err := w.populate(uid, gid); err != nil {
		return nil, errors.Join(err, w.Remove())
	}
	return w, nil
}

// populate opens the new directory, makes its contents, and marks it as that of a living run.
func (w *Workdir) populate(uid, gid int) error {
	dir, err := OpenDir(int(w.base.Fd()), filepath.Base(w.Path))
	if err != nil {
		return err
	}
	fd := int(dir.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errors.Join(err, dir.Close())
	}
	if err := owned.Check(dir, owned.Use); err != nil {
		return errors.Join(fmt.Errorf("%s is not the directory that was made: %w", w.Path, err), dir.Close())
	}
	w.Dir, w.Dev, w.Ino = dir, st.Dev, st.Ino
	if err := lockdir.LockRun(w.Dir); err != nil {
		return err
	}
	if err := unix.Mkdirat(fd, WorkName, 0o700); err != nil {
		return fmt.Errorf("make /work: %w", err)
	}
	if w.Work, err = OpenDir(fd, WorkName); err != nil {
		return err
	}
	if err := w.Work.Chown(uid, gid); err != nil {
		return fmt.Errorf("own /work: %w", err)
	}
	return nil
}

// OpenWorkdir opens the directories of a run that another process made and recorded.
func OpenWorkdir(location Location) (_ *Workdir, err error) {
	w := &Workdir{Path: location.Dir}
	if w.Dir, err = OpenInode(location.Dir, location); err != nil {
		return nil, err
	}
	if w.Work, err = OpenDir(int(w.Dir.Fd()), WorkName); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// OpenDir opens a directory by its name in an open one, and follows no link.
func OpenDir(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func identity(f *os.File) (dev, ino uint64, err error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0, 0, err
	}
	return st.Dev, st.Ino, nil
}

// Remove removes the two directories; /work must be empty.
func (w *Workdir) Remove() error {
	if w.Dir != nil {
		if err := unix.Unlinkat(int(w.Dir.Fd()), WorkName, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove /work of %s: %w", w.Path, err)
		}
	}
	if err := unix.Unlinkat(int(w.base.Fd()), filepath.Base(w.Path), unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", w.Path, err)
	}
	return nil
}

// Keep flattens the directory: what is in /work, by now root's of the outer namespace, becomes the caller's and moves right
// into the run's directory.
func (w *Workdir) Keep(ctx context.Context, account idmap.Account, links map[string]string) error {
	if account.Root() {
		if err := outputs.Own(ctx, w.Work, account.UID, account.GID, nil); err != nil {
			return err
		}
		if err := w.Work.Chown(account.UID, account.GID); err != nil {
			return err
		}
	}
	if err := outputs.Lift(w.Work, w.Dir, WorkName, links); err != nil {
		return fmt.Errorf("keep %s: %w", w.Path, err)
	}
	return nil
}

// Close closes the descriptors; nil is closed.
func (w *Workdir) Close() error {
	if w == nil {
		return nil
	}
	return errors.Join(CloseFile(w.base), CloseFile(w.Dir), CloseFile(w.Work))
}

// OpenInode opens the recorded directory of a location; anything else at the path is ErrNotExist.
func OpenInode(path string, location Location) (*os.File, error) {
	dir, err := OpenDir(unix.AT_FDCWD, path)
	if err != nil {
		return nil, err
	}
	dev, ino, err := identity(dir)
	if err == nil && (location.Ino == 0 || dev != location.Dev || ino != location.Ino) {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// IsInode reports whether path is the recorded directory of a location, as far as is visible.
func IsInode(path string, location Location) bool {
	is, err := LookInode(path, location)
	return err == nil && is
}

// LookInode is IsInode for removing a record with the directory: an error means that the answer is unknown.
func LookInode(path string, location Location) (bool, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return location.Ino != 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Dev == location.Dev && st.Ino == location.Ino, nil
}

// LocationOf returns a run's location; without one the zero Location, which names nothing.
func LocationOf(run catalog.Run) (p Location) {
	_ = json.Unmarshal(run.Place, &p)
	return p
}
