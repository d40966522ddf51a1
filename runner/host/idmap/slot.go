package idmap

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/owned"
)

// Slot is a pair of ids, unique among this user's runs while its lock is held.
type Slot struct {
	// Container and Analysis are ids of the outer user namespace: for the container's root and for the analysis.
	Container, Analysis int
	lock                *os.File
}

// Release frees the pair.
func (s Slot) Release() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// idDirs lists the candidate directories for a user's lock files, one per pair of ids. All catalogs share them: ids
// belong to the user. The first that can be made is used. The home is passwd(5)'s, not HOME's; cleaners of /tmp remove
// old files there, even if locked.
func idDirs(uid int) []string {
	if uid == 0 {
		return []string{"/run/scidex-oci-ids"}
	}
	dirs := []string{fmt.Sprintf("/tmp/scidex-oci-ids-%d", uid)}
	if home, err := passwdField("/etc/passwd", uid, 5); err == nil && filepath.IsAbs(home) {
		dirs = append([]string{filepath.Join(home, ".local/share/scidex-oci-ids")}, dirs...)
	}
	return dirs
}

// LockDir is the directory of the user's lock files: the first candidate that is a directory of only the user.
func (a Account) LockDir() (string, error) {
	var errs []error
	for _, dir := range idDirs(a.UID) {
		// If the parents cannot be made, ownDir reports an error.
		_ = os.MkdirAll(filepath.Dir(dir), 0o700)
		err := ownDir(dir)
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// Pairs is how many runs can have ids at once; without a range, all share the caller's.
func (a Account) Pairs() int64 {
	if !a.HasRange() {
		return math.MaxInt64
	}
	return int64(min(a.UIDs.Count, a.GIDs.Count)-1) / 2
}

// AcquireSlot locks the first free pair of ids. The kernel drops the lock when the process ends.
func (a Account) AcquireSlot(self bool) (Slot, error) {
	if !a.HasRange() {
		return Slot{}, nil // one identity mapping: both ids are 0 in the outer namespace
	}
	dir, err := a.LockDir()
	if err != nil {
		return Slot{}, fmt.Errorf("lock ids: %w", err)
	}
	pairs := int(a.Pairs())
	for k := range pairs {
		lock, err := flock.TryOpen(fmt.Sprintf("%s/%d", dir, k), unix.O_RDWR|unix.O_CREAT, 0o600, flock.Exclusive)
		if errors.Is(err, flock.ErrHeld) {
			continue
		}
		if err != nil {
			return Slot{}, fmt.Errorf("lock ids: %w", err)
		}
		slot := Slot{Container: 1 + 2*k, Analysis: 2 + 2*k, lock: lock}
		if self {
			slot.Analysis = 0
		}
		return slot, nil
	}
	return Slot{}, fmt.Errorf("all %d pairs of ids of this user are in use by other runs", pairs)
}

// ownDir makes a directory that only its owner can enter, or checks that it is one.
func ownDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory; remove it", dir)
	}
	if err := owned.CheckInfo(info, owned.Use); err != nil {
		return fmt.Errorf("%s: %w; remove it", dir, err)
	}
	return nil
}
