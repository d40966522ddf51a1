// Package lockdir makes directories that a process works in and removes at its end. Each is locked with flock(2), and the
// kernel drops the lock with the process: an unlocked directory is stale. The directories of runs are locked the same
// way, so that all users of a host can see which runs are alive.
package lockdir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// timeout is how long Make waits for a process that is removing the directory: as long as the undo function of its Sweep,
// which may take seconds on a busy host if it recovers runs.
const timeout = 30 * time.Second

// Make makes a directory with mode 0700, unless it exists, and locks it until the file is closed. Another process may
// remove it as stale in between: then Make makes it again.
//
//nolint:contextcheck // it waits for a directory that is needed also to clean up after the caller's context has ended
func Make(path string) (*os.File, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, flock.ErrHeld)
	defer cancel()
	f, err := flock.MakeDir(ctx, path)
	if errors.Is(err, flock.ErrHeld) {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	return f, err
}

// Sweep removes the caller's directories in dir whose names start with prefix and that no process has locked. Before each
// it calls undo, if not nil. With dry it removes nothing, and returns what it would remove.
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
		stale, err := sweep(path, dry, undo)
		if stale && err == nil {
			removed = append(removed, path)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

func sweep(path string, dry bool, undo func(path string) error) (stale bool, err error) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil || int(st.Uid) != os.Geteuid() || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false, nil // another user's, or gone
	}
	locked, err := flock.TryDir(path)
	if errors.Is(err, flock.ErrHeld) || errors.Is(err, os.ErrNotExist) {
		return false, nil // its process is alive, or has just removed it
	}
	if err != nil {
		return true, err
	}
	defer locked.Close()
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
