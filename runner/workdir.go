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
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// workdir is a run's directory on the host and its part that is /work, both by descriptor.
type workdir struct {
	path            string
	base, dir, work *os.File // base: the directory that dir is in; nil where another process made dir
	dev, ino        uint64
}

func runDir(tmp, id string) string { return filepath.Join(tmp, lockdir.RunPrefix+id) }

// makeWorkdir makes the run's directory with one mkdir: whatever has the name already is an error and is
// left alone. The directory that it is in is opened once, so that nobody can put another in its place
// meanwhile. uid and gid are who may enter /work besides root until the supervisor hands it on.
func makeWorkdir(path string, uid, gid int) (_ *workdir, err error) {
	w := &workdir{path: path}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if w.base, err = inode.Open(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("make the working directory: %w", err)
	}
	base, name := int(w.base.Fd()), filepath.Base(path)
	if err := unix.Mkdirat(base, name, 0o700); err != nil {
		return nil, fmt.Errorf("make the working directory: %w", &fs.PathError{Op: "mkdir", Path: path, Err: err})
	}
	if err := w.furnish(uid, gid); err != nil {
		return nil, errors.Join(err, w.remove())
	}
	return w, nil
}

// furnish opens the directory that was made, makes what is in it, and marks it as that of a living run.
func (w *workdir) furnish(uid, gid int) error {
	dir, err := openDir(int(w.base.Fd()), filepath.Base(w.path))
	if err != nil {
		return err
	}
	fd := int(dir.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errors.Join(err, dir.Close())
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 {
		err := fmt.Errorf("%s is not the directory that was made (uid %d, mode %04o)", w.path, st.Uid, st.Mode&0o777)
		return errors.Join(err, dir.Close())
	}
	w.dir, w.dev, w.ino = dir, st.Dev, st.Ino
	if err := lockdir.LockRun(w.dir); err != nil {
		return err
	}
	if err := unix.Mkdirat(fd, workName, 0o700); err != nil {
		return fmt.Errorf("make /work: %w", err)
	}
	if w.work, err = openDir(fd, workName); err != nil {
		return err
	}
	if err := w.work.Chown(uid, gid); err != nil {
		return fmt.Errorf("own /work: %w", err)
	}
	return nil
}

// openWorkdir opens the directories of a run that another process made and recorded.
func openWorkdir(place Place) (_ *workdir, err error) {
	w := &workdir{path: place.Dir}
	if w.dir, err = openInode(place.Dir, place); err != nil {
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
	if err := unix.Unlinkat(int(w.base.Fd()), filepath.Base(w.path), unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove %s: %w", w.path, err)
	}
	return nil
}

// keep flattens the directory: what is in /work, by now root's of the outer namespace, becomes the
// caller's and stands directly in the run's directory.
func (w *workdir) keep(ctx context.Context, account sandbox.Account, links map[string]string) error {
	if account.Root() {
		if err := outputs.Own(ctx, w.work, account.UID, account.GID, nil); err != nil {
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

func (w *workdir) close() error {
	if w == nil {
		return nil
	}
	return errors.Join(closeFile(w.base), closeFile(w.dir), closeFile(w.work))
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// setAside renames the kept directory of the attempt before, so that this one can have its name.
func setAside(ctx context.Context, host *phase.Host, key catalog.Key) error {
	kept, err := keptByUs(ctx, host, key)
	if err != nil || !kept {
		return err // what has the name and is not ours is refused by mkdir
	}
	path := runDir(host.Tmp, key.ID)
	return os.Rename(path, asidePath(path, key.Attempt-1))
}

func asidePath(path string, attempt int) string { return fmt.Sprintf("%s@%d", path, attempt) }

// keptByUs reports whether the directory of the id is the kept one of the attempt before: the very inode
// that the catalog recorded.
func keptByUs(ctx context.Context, host *phase.Host, key catalog.Key) (bool, error) {
	if key.Attempt == 1 {
		return false, nil
	}
	run, err := host.Catalog.Get(ctx, catalog.Key{ID: key.ID, Attempt: key.Attempt - 1})
	if err != nil {
		return false, &CatalogError{fmt.Errorf("look up attempt %d of %s: %w", key.Attempt-1, key.ID, err)}
	}
	place := placeOf(run)
	return place.Dir == runDir(host.Tmp, key.ID) && isInode(place.Dir, place), nil
}

// openInode opens the directory that a place recorded; anything else at the path does not exist for it.
func openInode(path string, place Place) (*os.File, error) {
	dir, err := openDir(unix.AT_FDCWD, path)
	if err != nil {
		return nil, err
	}
	dev, ino, err := identity(dir)
	if err == nil && (place.Ino == 0 || dev != place.Dev || ino != place.Ino) {
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// isInode reports whether path is the directory that a place recorded, as far as that can be seen.
func isInode(path string, place Place) bool {
	is, err := lookInode(path, place)
	return err == nil && is
}

// lookInode is isInode for who removes a record with the directory: an error says that nobody knows what is there.
func lookInode(path string, place Place) (bool, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return place.Ino != 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR && st.Dev == place.Dev && st.Ino == place.Ino, nil
}

// placeOf reads a run's place; a row without one gives the zero Place, which names nothing.
func placeOf(run catalog.Run) (p Place) {
	_ = json.Unmarshal(run.Place, &p)
	return p
}
