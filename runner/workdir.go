package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// workdir is a run's directory on the host and its part that is /work, both by descriptor.
type workdir struct {
	path      string
	dir, work *os.File
	dev, ino  uint64
}

// runPrefix begins the name of every run's directory.
const runPrefix = "scidex-analysis-"

func runDir(tmp, id string) string { return filepath.Join(tmp, runPrefix+id) }

// makeWorkdir makes the run's directory with one mkdir: whatever has the name already is an error and is
// left alone. owner is who may enter /work besides root until the supervisor hands it on.
func makeWorkdir(path string, uid, gid int) (_ *workdir, err error) {
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the working directory: %w", err)
	}
	w := &workdir{path: path}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.remove())
		}
	}()
	if w.dir, err = openDir(unix.AT_FDCWD, path); err != nil {
		return nil, err
	}
	fd := int(w.dir.Fd())
	if err := unix.Mkdirat(fd, workName, 0o700); err != nil {
		return nil, fmt.Errorf("make /work: %w", err)
	}
	if w.work, err = openDir(fd, workName); err != nil {
		return nil, err
	}
	if err := w.work.Chown(uid, gid); err != nil {
		return nil, fmt.Errorf("own /work: %w", err)
	}
	w.dev, w.ino, err = identity(w.dir)
	return w, err
}

// openWorkdir opens the directories of a run that another process made.
func openWorkdir(path string) (_ *workdir, err error) {
	w := &workdir{path: path}
	if w.dir, err = openDir(unix.AT_FDCWD, path); err != nil {
		return nil, err
	}
	if w.work, err = openDir(int(w.dir.Fd()), workName); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func openDir(at int, name string) (*os.File, error) {
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

// remove removes the two directories; /work must be empty.
func (w *workdir) remove() error {
	if w.dir != nil {
		if err := unix.Unlinkat(int(w.dir.Fd()), workName, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("remove /work of %s: %w", w.path, err)
		}
	}
	if err := unix.Rmdir(w.path); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", w.path, err)
	}
	return nil
}

// keep flattens the directory: what is in /work, by now root's of the outer namespace, becomes the
// caller's and stands directly in the run's directory.
func (w *workdir) keep(ctx context.Context, account sandbox.Account, links map[string]string) error {
	if account.Root() {
		if err := outputs.Own(ctx, w.work, account.UID, account.GID); err != nil {
			return err
		}
		if err := w.work.Chown(account.UID, account.GID); err != nil {
			return err
		}
	}
	if err := outputs.Lift(w.work, w.dir, workName, links); err != nil {
		return fmt.Errorf("keep %s: %w", w.path, err)
	}
	return nil
}

func (w *workdir) close() error { return errors.Join(closeFile(w.dir), closeFile(w.work)) }

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// setAside renames the kept directory of the attempt before, so that this one can have its name.
func (r *Runner) setAside(ctx context.Context, key catalog.Key) error {
	kept, err := r.keptByUs(ctx, key)
	if err != nil || !kept {
		return err // what has the name and is not ours is refused by mkdir
	}
	path := runDir(r.Tmp, key.ID)
	return os.Rename(path, asidePath(path, key.Attempt-1))
}

func asidePath(path string, attempt int) string { return fmt.Sprintf("%s@%d", path, attempt) }

// keptByUs reports whether the directory of the id is the kept one of the attempt before: the very inode
// that the catalog recorded.
func (r *Runner) keptByUs(ctx context.Context, key catalog.Key) (bool, error) {
	if key.Attempt == 1 {
		return false, nil
	}
	run, err := r.Catalog.Get(ctx, catalog.Key{ID: key.ID, Attempt: key.Attempt - 1})
	if err != nil {
		return false, fmt.Errorf("look up attempt %d of %s: %w", key.Attempt-1, key.ID, err)
	}
	place := placeOf(run)
	return place.Dir == runDir(r.Tmp, key.ID) && isInode(place.Dir, place), nil
}

// isInode reports whether path is the directory that a place recorded.
func isInode(path string, place Place) bool {
	var st unix.Stat_t
	return place.Ino != 0 && unix.Lstat(path, &st) == nil &&
		st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Dev == place.Dev && st.Ino == place.Ino
}

// placeOf reads a run's place; a row without one gives the zero Place, which names nothing.
func placeOf(run catalog.Run) (p Place) {
	_ = json.Unmarshal(run.Place, &p)
	return p
}
