// Package userdir works in directories of the host that a user named, so that nobody who may write there can lead root elsewhere. A
// directory is opened once, when it is named, and everything in it happens through that descriptor, by single names, without
// following a link or entering another mount. If another user owns a component of the path, root works there with that user's rights.
package userdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/regular"
)

// Dir is an open directory.
type Dir struct {
	fd    *os.File // O_PATH
	path  string   // for messages
	owner *owner   // nil: the caller's own rights
}

// Open opens a directory that exists. Links on the way and the last one are followed: the user named them.
func Open(path string) (*Dir, error) {
	d, rest, err := find(path, true)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: d.noDirectory(rest[0])}, d.Close())
	}
	return d, nil
}

// noDirectory says why a search ended at a name. A directory was made since the search: it was missing.
func (d *Dir) noDirectory(name string) error {
	st, err := d.Lstat(name)
	switch {
	case err != nil:
		return Plain(err)
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return unix.ENOENT
	}
	return unix.ENOTDIR
}

// Nearest opens a directory, or the nearest one above it that exists; missing are the names that MakeAll can make below that.
func Nearest(path string) (d *Dir, missing []string, err error) {
	d, missing, err = find(path, true)
	if err != nil || len(missing) == 0 {
		return d, missing, err
	}
	if err := d.noDirectory(missing[0]); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, d.Close())
	}
	return d, missing, nil
}

// Make opens a directory and makes what is missing of it, with the mode under the umask.
func Make(path string, mode fs.FileMode) (*Dir, error) {
	d, missing, err := Nearest(path)
	if err != nil {
		return nil, err
	}
	made, err := d.MakeAll(missing, mode)
	return made, errors.Join(err, d.Close())
}

// Parent opens the directory above the last component of a path, and returns that, whatever it is; it may not exist yet.
func Parent(path string) (*Dir, string, error) { return parent(path, false) }

// ParentOfTarget is Parent for a file that may be a link: what it leads to is named.
func ParentOfTarget(path string) (*Dir, string, error) { return parent(path, true) }

func parent(path string, follow bool) (*Dir, string, error) {
	if base := filepath.Base(path); path == "" || strings.HasSuffix(path, "/") || base == "." || base == ".." {
		return nil, "", fmt.Errorf("%q names a directory; name a file in it", path)
	}
	d, rest, err := find(path, follow)
	if err != nil {
		return nil, "", err
	}
	switch {
	case len(rest) == 0:
		err = unix.EISDIR
	case len(rest) > 1:
		err = unix.ENOENT
		if errors.Is(d.noDirectory(rest[0]), unix.ENOTDIR) {
			err = unix.ENOTDIR
		}
	}
	if err != nil {
		return nil, "", errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, d.Close())
	}
	return d, rest[0], nil
}

// Handle opens what a path names, of any kind and through links, but not for reading (O_PATH). The path is its name.
func Handle(path string) (*os.File, error) {
	f, err := handle(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func handle(path string) (f *os.File, err error) {
	d, rest, err := find(path, true)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return d.fd, nil
	}
	defer d.Close()
	if f, err = d.Handle(rest[0]); err == nil {
		var st unix.Stat_t
		if err = unix.Fstat(int(f.Fd()), &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
			err = d.fail("open", rest[0], unix.ELOOP)
		}
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	switch {
	case err == nil && len(rest) > 1:
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: unix.ENOTDIR}, f.Close())
	case d.magic(rest[0], err): // a descriptor of the caller's
		return d.openat(rest[0], unix.O_PATH|unix.O_CLOEXEC)
	case errors.Is(err, unix.EXDEV): // a file that is mounted
		return d.openat(rest[0], unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	}
	return f, err
}

// Path is the path that the user named, for messages.
func (d *Dir) Path() string { return d.path }

// Close releases the directory.
func (d *Dir) Close() error { return d.fd.Close() }

// Again is the directory with a descriptor of its own.
func (d *Dir) Again() (*Dir, error) {
	fd, err := d.open(".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.fail("open", ".", err)
	}
	return &Dir{fd, d.path, d.owner}, nil
}

// Owner is the user with whose rights root works in the directory; other is false if these are root's own.
func (d *Dir) Owner() (uid, gid int, other bool) {
	if d.owner == nil {
		return 0, 0, false
	}
	return d.owner.uid, d.owner.gid, true
}

// Do calls work with the rights that root has in the directory. work starts no goroutine and stays on its thread.
func (d *Dir) Do(work func() error) error { return d.owner.do(work) }

// Sub opens a directory in the directory.
func (d *Dir) Sub(name string) (*Dir, error) {
	fd, err := d.open(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	who := d.owner
	if who == nil {
		var st unix.Stat_t
		if err := unix.Fstat(int(fd.Fd()), &st); err != nil {
			return nil, errors.Join(d.fail("stat", name, err), fd.Close())
		}
		if who, err = ownerOf(&st); err != nil {
			return nil, errors.Join(d.fail("open", name, err), fd.Close())
		}
	}
	return &Dir{fd, filepath.Join(d.path, name), who}, nil
}

// Mkdir makes a directory, which is not there yet, and opens it.
func (d *Dir) Mkdir(name string, mode fs.FileMode) (*Dir, error) {
	if err := d.at(name, func(dir int) error { return unix.Mkdirat(dir, name, uint32(mode.Perm())) }); err != nil {
		return nil, d.fail("mkdir", name, err)
	}
	return d.Sub(name)
}

// MakeAll opens the directory of these names below d, one below the other, and makes what is missing. Without names it is d again.
func (d *Dir) MakeAll(names []string, mode fs.FileMode) (*Dir, error) {
	at, err := d.Again()
	for _, name := range names {
		if err != nil {
			break
		}
		var next *Dir
		if next, err = at.Sub(name); errors.Is(err, fs.ErrNotExist) {
			next, err = at.Mkdir(name, mode)
			if errors.Is(err, fs.ErrExist) { // another process was faster
				next, err = at.Sub(name)
			}
		}
		if err = errors.Join(err, at.Close()); err != nil && next != nil {
			err = errors.Join(err, next.Close())
		}
		at = next
	}
	if err != nil {
		return nil, err
	}
	return at, nil
}

// File opens the directory itself for reading, for a lock, or for a walk of it.
func (d *Dir) File() (*os.File, error) {
	fd, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, d.fail("open", ".", err)
	}
	return fd, nil
}

// Root is the directory for calls with longer paths; make them with Do. It stays in the directory, and follows links in it.
func (d *Dir) Root() (root *os.Root, err error) {
	err = d.Do(func() error {
		root, err = os.OpenRoot(d.ProcPath())
		return err
	})
	return root, err
}

// Handle is an entry of any kind, which is not opened (O_PATH), for Is, Remove and fstat.
func (d *Dir) Handle(name string) (*os.File, error) {
	f, err := d.open(name, unix.O_PATH, 0)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return f, nil
}

// ProcPath leads to the directory while it is open, for calls that take nothing but a path; make them with Do.
func (d *Dir) ProcPath() string { return procPath(d.fd) }

// Lstat describes an entry, and does not follow it.
func (d *Dir) Lstat(name string) (st unix.Stat_t, err error) {
	err = d.at(name, func(dir int) error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return st, d.fail("lstat", name, err)
	}
	return st, nil
}

// LstatBelow describes what a path of several names below the directory leads to, without a link on the way.
func (d *Dir) LstatBelow(path string) (st unix.Stat_t, err error) {
	f, err := d.openBelow(path, unix.O_PATH, 0)
	if err == nil {
		err = errors.Join(unix.Fstat(int(f.Fd()), &st), f.Close())
	}
	if err != nil {
		return st, d.fail("lstat", path, err)
	}
	return st, nil
}

// Writable returns an error if nothing can be made in the directory with the rights that its user has there. It makes nothing that has a
// name. What passes, such as a full file system, is no error: there may be space later.
func (d *Dir) Writable() error {
	f, err := d.openBelow(".", unix.O_RDWR|unix.O_TMPFILE, 0o600) // access(2) would promise root what /proc and its like refuse
	switch {
	case err == nil:
		return f.Close()
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS):
		return d.fail("access", ".", err)
	}
	var system unix.Statfs_t // not every file system makes files without a name
	if err := unix.Fstatfs(int(d.fd.Fd()), &system); err == nil && (system.Type == unix.PROC_SUPER_MAGIC || system.Type == unix.SYSFS_MAGIC) {
		return d.fail("access", ".", unix.EPERM)
	}
	return d.fail("access", ".", d.at(".", func(dir int) error { return unix.Faccessat(dir, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) }))
}

// Names lists the entries; most bounds their number, 0 is no bound.
func (d *Dir) Names(most int) ([]string, error) {
	f, err := d.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if most == 0 {
		return f.Readdirnames(-1)
	}
	names, err := f.Readdirnames(most)
	if len(names) == 0 {
		return nil, ignoreEnd(err)
	}
	return names, nil
}

// Read opens a regular file for reading; anything else is regular.ErrIrregular, and a FIFO does not block.
func (d *Dir) Read(name string) (*os.File, error) {
	f, err := d.open(name, unix.O_RDONLY, 0)
	if errors.Is(err, unix.EXDEV) { // a file that is mounted, such as a secret of a container
		f, err = d.openat(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC)
	}
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	if err := regular.Check(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Append opens a file for appending, and makes it with the mode if it is missing. A FIFO without a reader is ENXIO.
func (d *Dir) Append(name string, mode fs.FileMode) (*os.File, error) {
	return d.openAny(name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT, mode)
}

// ReadAny opens what a path names for reading: a regular file, a FIFO, a device, or a descriptor of the caller's. A FIFO does not
// block.
func ReadAny(path string) (*os.File, error) {
	d, name, err := ParentOfTarget(path)
	if err != nil {
		return nil, err
	}
	f, err := d.openAny(name, unix.O_RDONLY, 0)
	return f, errors.Join(err, d.Close())
}

// ReadFile is all of what ReadAny opens, which may be at most most bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := ReadAny(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded.ReadFile(f, most)
}

// openAny also opens what open refuses: the user named it.
func (d *Dir) openAny(name string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := d.open(name, flags, mode)
	flags = flags&^unix.O_CREAT | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	switch {
	case d.magic(name, err): // /dev/fd/N is a descriptor of the caller's
		f, err = d.openat(name, flags)
	case errors.Is(err, unix.EXDEV): // a file that is mounted, such as /dev/null in a container
		f, err = d.openat(name, flags|unix.O_NOFOLLOW)
	}
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return f, nil
}

// Exclusive makes a file that is not there yet, for reading and writing.
func (d *Dir) Exclusive(name string, mode fs.FileMode) (*os.File, error) {
	f, err := d.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, mode)
	if err != nil {
		return nil, d.fail("open", name, err)
	}
	return f, nil
}

// Rename gives an entry another name in to, with the flags of renameat2(2). A file system without RENAME_NOREPLACE gets a second
// name and loses the first.
func (d *Dir) Rename(name string, to *Dir, as string, flags uint) error {
	err := d.at(name, func(from int) error {
		err := unix.Renameat2(from, name, int(to.fd.Fd()), as, flags)
		if flags != unix.RENAME_NOREPLACE || !errors.Is(err, unix.EINVAL) {
			return err
		}
		if err := unix.Linkat(from, name, int(to.fd.Fd()), as, 0); err != nil {
			return err
		}
		return unix.Unlinkat(from, name, 0)
	})
	return d.fail("rename", name, err)
}

// Remove removes a file or an empty directory if name is still the inode of is, which this process made.
func (d *Dir) Remove(name string, is *os.File) error {
	var made unix.Stat_t
	if err := unix.Fstat(int(is.Fd()), &made); err != nil {
		return d.fail("remove", name, err)
	}
	err := d.at(name, func(dir int) error {
		var now unix.Stat_t
		if err := unix.Fstatat(dir, name, &now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		switch {
		case now.Dev != made.Dev || now.Ino != made.Ino:
			return errors.New("another file has taken its name")
		case now.Mode&unix.S_IFMT == unix.S_IFDIR:
			return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		}
		return unix.Unlinkat(dir, name, 0)
	})
	return d.fail("remove", name, err)
}

// Is reports whether name is still this inode.
func (d *Dir) Is(name string, f *os.File) (bool, error) {
	now, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var made unix.Stat_t
	if err == nil {
		err = unix.Fstat(int(f.Fd()), &made)
	}
	return now.Dev == made.Dev && now.Ino == made.Ino, err
}

// Sync makes the names in the directory durable.
func (d *Dir) Sync() error {
	f, err := d.File()
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// at calls work with the directory's descriptor and rights, for one name.
func (d *Dir) at(name string, work func(dir int) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	return d.Do(func() error {
		for {
			if err := work(int(d.fd.Fd())); !errors.Is(err, unix.EINTR) {
				return err
			}
		}
	})
}

func checkName(name string) error {
	if name == "" || name == ".." || strings.ContainsAny(name, "/\x00") {
		return unix.EINVAL
	}
	return nil
}

func (d *Dir) open(name string, flags int, mode fs.FileMode) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return d.openBelow(name, flags, mode)
}

func (d *Dir) openBelow(name string, flags int, mode fs.FileMode) (f *os.File, err error) {
	flags |= unix.O_NOFOLLOW
	if flags&unix.O_PATH == 0 { // takes no other flags
		flags |= unix.O_NONBLOCK | unix.O_NOCTTY
	}
	if flags&unix.O_CREAT == 0 && flags&unix.O_TMPFILE != unix.O_TMPFILE {
		mode = 0
	}
	err = d.Do(func() error {
		fd, err := beneath.OpenFile(int(d.fd.Fd()), name, flags, uint32(mode.Perm()))
		if err == nil {
			f = os.NewFile(uintptr(fd), filepath.Join(d.path, name))
		}
		return err
	})
	return f, err
}

// openat opens what open refuses.
func (d *Dir) openat(name string, flags int) (f *os.File, err error) {
	err = d.at(name, func(dir int) error {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err == nil {
			f = os.NewFile(uintptr(fd), filepath.Join(d.path, name))
		}
		return err
	})
	return f, err
}

// magic reports whether an open failed since name is a link of procfs to a descriptor.
func (d *Dir) magic(name string, err error) bool {
	var system unix.Statfs_t
	return errors.Is(err, unix.ELOOP) && unix.Fstatfs(int(d.fd.Fd()), &system) == nil && system.Type == unix.PROC_SUPER_MAGIC && name != ""
}

func (d *Dir) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: filepath.Join(d.path, name), Err: d.owner.explain(Plain(err))}
}
