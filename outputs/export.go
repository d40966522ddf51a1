package outputs

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// inside is beneath for the user's own directories, which may contain mounts.
const inside = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// Target is a directory of the user that receives outputs as the caller's own files. Nothing is written outside of it, and
// no symlink in it is followed. It is for one goroutine.
type Target struct {
	dir       *os.File
	overwrite bool
	last      *os.File // the directory of the last file, kept because outputs come in order
	lastPath  []byte
}

// OpenTarget opens dir and makes it if it is missing. A directory that is not empty is refused unless overwrite is set. dir
// itself may be a symlink to a directory: the user named it.
func OpenTarget(dir string, overwrite bool) (*Target, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	if !overwrite {
		_, err := f.Readdirnames(1)
		if err == nil {
			err = fmt.Errorf("%s is not empty; name an empty or new directory, or use --overwrite", dir)
		}
		if !errors.Is(err, io.EOF) {
			f.Close()
			return nil, fmt.Errorf("export: %w", err)
		}
	}
	return &Target{dir: f, overwrite: overwrite}, nil
}

// Close releases the directory.
func (t *Target) Close() error {
	t.forget()
	return t.dir.Close()
}

func (t *Target) forget() {
	if t.last != nil {
		t.last.Close()
		t.last = nil
	}
}

// Put writes one file at path below the target, whole or not at all. The file gets the mode's permission bits with u+rw,
// under the caller's umask; set-id and sticky bits are dropped. Missing directories are made. An existing name is
// fs.ErrExist, unless the target was opened to overwrite and it is a regular file.
func (t *Target) Put(path []byte, mode fs.FileMode, r io.Reader) error {
	if err := t.put(path, mode, r); err != nil {
		return fmt.Errorf("export \"%s\": %w", Escape(path), err)
	}
	return nil
}

func (t *Target) put(path []byte, mode fs.FileMode, r io.Reader) error {
	if err := checkPath(path); err != nil {
		return err
	}
	var parent []byte
	name := path
	if slash := bytes.LastIndexByte(path, '/'); slash >= 0 {
		parent, name = path[:slash], path[slash+1:]
	}
	dir, err := t.open(parent)
	if err != nil {
		return err
	}
	temp := ".scidex-export-" + rand.Text()
	if err := write(dir, temp, mode, r); err != nil {
		return err
	}
	if err := t.publish(int(dir.Fd()), temp, string(name)); err != nil {
		_ = unix.Unlinkat(int(dir.Fd()), temp, 0) // the previous error counts
		return err
	}
	return nil
}

// checkPath accepts only plain relative paths.
func checkPath(path []byte) error {
	if len(path) == 0 {
		return errors.New("the path is empty")
	}
	if bytes.IndexByte(path, 0) >= 0 {
		return errors.New("the path holds a NUL byte")
	}
	for part := range bytes.SplitSeq(path, []byte{'/'}) {
		switch string(part) {
		case "":
			return errors.New("the path is absolute or has an empty component")
		case ".", "..":
			return errors.New("the path has . or .. as a component")
		}
	}
	return nil
}

// open returns the directory at path and makes missing ones.
func (t *Target) open(path []byte) (*os.File, error) {
	if len(path) == 0 {
		return t.dir, nil
	}
	if t.last != nil && bytes.Equal(path, t.lastPath) {
		return t.last, nil
	}
	at := t.dir
	for part := range bytes.SplitSeq(path, []byte{'/'}) {
		next, err := makeDir(at, string(part))
		if at != t.dir {
			at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	t.forget()
	t.last, t.lastPath = at, bytes.Clone(path)
	return at, nil
}

func makeDir(at *os.File, name string) (*os.File, error) {
	flags := unix.O_RDONLY | unix.O_DIRECTORY | quiet
	fd, err := openat2(int(at.Fd()), name, flags, 0, inside)
	if errors.Is(err, unix.ENOENT) {
		err = unix.Mkdirat(int(at.Fd()), name, 0o755)
		if err == nil || errors.Is(err, unix.EEXIST) {
			fd, err = openat2(int(at.Fd()), name, flags, 0, inside)
		}
	}
	switch {
	case err == nil:
		return os.NewFile(uintptr(fd), name), nil
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("\"%s\" exists and is no directory", Escape([]byte(name)))
	}
	return nil, fmt.Errorf("directory \"%s\": %w", Escape([]byte(name)), err)
}

// write makes the file temp. On an error it removes it.
func write(dir *os.File, temp string, mode fs.FileMode, r io.Reader) error {
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | quiet
	fd, err := openat2(int(dir.Fd()), temp, flags, uint32(mode.Perm()|0o600), inside)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	_, err = io.Copy(f, r)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = unix.Unlinkat(int(dir.Fd()), temp, 0) // the previous error counts
	}
	return err
}

// Publish renames a finished file of a directory (AT_FDCWD for paths). An existing name is fs.ErrExist.
func Publish(dir int, temp, name string) error {
	err := unix.Renameat2(dir, temp, dir, name, unix.RENAME_NOREPLACE)
	if !errors.Is(err, unix.EINVAL) { // no RENAME_NOREPLACE, as on NFS
		return err
	}
	if err := unix.Linkat(dir, temp, dir, name, 0); err != nil {
		return err
	}
	return unix.Unlinkat(dir, temp, 0)
}

// publish renames the finished file.
func (t *Target) publish(dir int, temp, name string) error {
	err := Publish(dir, temp, name)
	if !errors.Is(err, unix.EEXIST) || !t.overwrite {
		return err
	}
	st, err := lstatAt(dir, name)
	if err != nil {
		return err
	}
	if kind(st) != unix.S_IFREG {
		return fmt.Errorf("it exists and is no regular file: %w", fs.ErrExist)
	}
	return unix.Renameat(dir, temp, dir, name)
}
