package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Walk calls yield for each blob that spare does not name, in no particular order, until it returns false; a nil spare names
// none. A blob's modification time is that of its last publication. Other files are skipped.
func (s *Store) Walk(ctx context.Context, spare func(sha256 string) bool, yield func(Found) bool) error {
	if s.remote == nil {
		return s.walkHere(spare, yield)
	}
	return s.remote.Walk(ctx, func(f Found) bool { return checkDigest(f.SHA256) != nil || spare != nil && spare(f.SHA256) || yield(f) })
}

// walkHere is Walk of the blobs' files on this host.
func (s *Store) walkHere(spare func(sha256 string) bool, yield func(Found) bool) error {
	err := list(filepath.Join(s.dir, blobsDir), func(e fs.DirEntry) (bool, error) { return look(e, spare, yield) })
	if err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	return nil
}

// look is walkHere of one entry. It does not even lstat spared ones.
func look(e fs.DirEntry, spare func(string) bool, yield func(Found) bool) (bool, error) {
	if isBlob := checkDigest(e.Name()) == nil; !isBlob || spare != nil && spare(e.Name()) {
		return true, nil
	}
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return yield(Found{e.Name(), info.Size(), info.ModTime()}), nil
}

// list reads a directory in parts, so that memory does not depend on its size.
func list(dir string, yield func(fs.DirEntry) (bool, error)) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(512)
		for _, e := range entries {
			if more, err := yield(e); err != nil || !more {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Remove deletes blobs that were not published since before, and returns them; a missing one is no error. First read, after
// before, that no catalog names them; if the store is a directory, do both while holding Sweep.
func (s *Store) Remove(ctx context.Context, blobs []Found, before time.Time) ([]Found, error) {
	if s.remote != nil {
		return s.remote.Remove(ctx, blobs, before)
	}
	for i, f := range blobs {
		if err := s.forget(f.SHA256); err != nil {
			return blobs[:i], err
		}
	}
	return blobs, nil
}

// forget removes the file of a blob on this host.
func (s *Store) forget(sha256 string) error {
	path, err := s.Path(sha256)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %s: %w", sha256, err)
	}
	return nil
}

// CleanUploads aborts uploads to a shared store that killed hosts started before a time, and counts them.
func (s *Store) CleanUploads(ctx context.Context, before time.Time, dry bool) (int, error) {
	if s.remote == nil {
		return 0, nil
	}
	return s.remote.CleanUploads(ctx, before, dry)
}

// DeadIngests returns the ingest directories of dead owners, and those that a process still holds, except those that spare names; nil
// spares none.
func (s *Store) DeadIngests(spare func(name string) bool) (dead, held []string, err error) {
	return s.deadIngests(spare, func(string) error { return nil })
}

// CleanIngests removes the ingest directories of dead owners, and returns the same as DeadIngests.
func (s *Store) CleanIngests(spare func(name string) bool) (removed, held []string, err error) {
	return s.deadIngests(spare, os.RemoveAll)
}

func (s *Store) deadIngests(spare func(name string) bool, do func(path string) error) (dead, held []string, err error) {
	gate, err := s.lock(ingestDir, flock.Exclusive)
	if err != nil {
		return nil, nil, err
	}
	defer gate.Close()
	err = list(gate.Name(), func(e fs.DirEntry) (bool, error) {
		if spare != nil && spare(e.Name()) {
			return true, nil
		}
		path := filepath.Join(gate.Name(), e.Name())
		gone, err := ifDead(path, e, do)
		if errors.Is(err, errHeld) {
			held = append(held, path)
			return true, nil
		}
		if gone {
			dead = append(dead, path)
		}
		return true, err
	})
	if err != nil {
		return dead, held, fmt.Errorf("ingest: %w", err)
	}
	return dead, held, nil
}

// errHeld is what ifDead returns for a directory whose lock is taken.
var errHeld = errors.New("it is held")

// ifDead calls do for an ingest directory whose lock is free, or for a temporary file, while holding the lock itself.
func ifDead(path string, e fs.DirEntry, do func(string) error) (bool, error) {
	if !e.IsDir() {
		return true, do(path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) { // its owner has just closed it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	switch err := flock.Try(f, flock.Exclusive); {
	case errors.Is(err, flock.ErrHeld):
		return false, errHeld
	case err != nil:
		return false, err
	}
	if there, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil // its owner has removed it since it was opened
	} else if err != nil || !there.IsDir() {
		return false, err
	}
	return true, do(path)
}
