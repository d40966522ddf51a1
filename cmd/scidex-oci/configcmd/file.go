package configcmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/record"
)

// changeFile replaces a config file by what edit makes of its text, which is empty where there is no file yet. It follows
// symbolic links, keeps mode and owner, and takes turns with other processes.
func changeFile(path string, edit func(text string) (string, error)) (err error) {
	path, err = target(path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil { // XDG Base Directory Specification: 0700
		return err
	}
	next, err := lockNext(path)
	if err != nil {
		return err
	}
	defer next.Close() // which unlocks it
	changed, err := fill(next, path, edit)
	if !changed || err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return record.SyncDir(filepath.Dir(path))
}

// fill writes the edited text of the file at path to next. It reports whether there is a change.
func fill(next *os.File, path string, edit func(text string) (string, error)) (changed bool, err error) {
	text, err := readOld(path, next)
	if err != nil {
		return false, err
	}
	edited, err := edit(text)
	if err != nil || edited == text {
		return false, err
	}
	if err := next.Truncate(0); err != nil { // a process that was killed left it
		return false, err
	}
	if _, err := next.WriteString(edited); err != nil {
		return false, err
	}
	return true, next.Sync()
}

// target follows symbolic links, also to a file that does not exist yet.
func target(path string) (string, error) {
	for range 40 { // as the kernel (path_resolution(7))
		to, err := os.Readlink(path)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = options.Absolute(dir, to)
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: unix.ELOOP}
}

// lockNext opens and locks the file beside path that becomes the next config file. A process that was killed may have left
// one, which is used again. Once another process has moved it to path, there is another one to lock.
func lockNext(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o666)
		if err != nil {
			return nil, err
		}
		ours, err := lock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %q: %w", name, err), f.Close())
		}
		if ours {
			return f, nil
		}
		f.Close()
	}
}

// lock waits for the lock of a file, and reports whether its name is still this file's.
func lock(f *os.File) (ours bool, err error) {
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	locked, err1 := f.Stat()
	named, err2 := os.Lstat(f.Name())
	if errors.Is(err2, fs.ErrNotExist) {
		return false, errors.Join(err, err1)
	}
	err = errors.Join(err, err1, err2)
	return err == nil && os.SameFile(locked, named), err
}

// readOld reads the config file, and gives next its mode and owner.
func readOld(path string, next *os.File) (string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%q is not a regular file; give another with --config FILE", path)
	}
	text, err := userfile.Read(path, nil)
	if err != nil {
		return "", err
	}
	return string(text), keep(info, next)
}

// keep gives next the owner and the mode of the old file. A group that the caller is not in cannot be given; then nothing is
// granted to that of the new file.
func keep(old fs.FileInfo, next *os.File) error {
	mode, err := keepOwner(old, next)
	if err != nil {
		return err
	}
	return next.Chmod(mode)
}

// keepOwner lets root edit a user's file.
func keepOwner(old fs.FileInfo, next *os.File) (fs.FileMode, error) {
	mode := old.Mode().Perm()
	info, err := next.Stat()
	if err != nil {
		return mode, err
	}
	was, ok1 := old.Sys().(*syscall.Stat_t)
	is, ok2 := info.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return mode, nil
	}
	err = next.Chown(int(was.Uid), int(was.Gid))
	if errors.Is(err, fs.ErrPermission) && was.Uid == is.Uid {
		return mode &^ 0o070, nil
	}
	return mode, err
}
