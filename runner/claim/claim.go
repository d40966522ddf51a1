// Package claim makes directories that a command works in and removes at its end. The lock of one, which the
// kernel drops with the command, tells it from what a killed command left; that of a run's directory tells
// everybody that the run lives.
package claim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// patience is for how long Make waits for another command that removes what it has taken for left. That is as long as its
// undo takes: one that looks for runs that were left may take seconds on a busy host.
const patience = 30 * time.Second

var errRemoved = errors.New("another command removed it meanwhile")

// Make makes a directory of the caller alone, where it is missing, and locks it until the file is closed.
// Before it is locked another command may take it for one that was left, and remove it: then it is made again.
func Make(path string) (f *os.File, err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		f, err = lock(path)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", path, err)
		}
		locked, err1 := f.Stat()
		named, err2 := os.Lstat(path)
		if err1 == nil && err2 == nil && os.SameFile(locked, named) {
			return f, nil
		}
		err = errors.Join(errRemoved, err1, err2, f.Close())
	}
	return nil, fmt.Errorf("make %s: %w", path, err)
}

// Sweep removes what killed commands of the caller left in dir under names that begin with prefix, dry only in
// what it returns. Each is handed to undo, unless that is nil, before it is removed.
func Sweep(dir, prefix string, dry bool, undo func(path string) error) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), prefix) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		left, err := sweep(path, dry, undo)
		if left && err == nil {
			removed = append(removed, path)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

func sweep(path string, dry bool, undo func(path string) error) (left bool, err error) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, nil // somebody else's, or gone
	}
	held, err := lock(path)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
		return false, nil // it is at work, or has just ended
	}
	if err != nil {
		return true, err
	}
	defer held.Close()
	if dry {
		return true, nil
	}
	if undo != nil {
		if err := undo(path); err != nil {
			return true, err
		}
	}
	return true, os.RemoveAll(path)
}

// lock locks a directory of the caller's own, or returns EWOULDBLOCK.
func lock(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
