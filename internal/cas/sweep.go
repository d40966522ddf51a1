package cas

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Found is a blob of a listing.
type Found struct {
	SHA256   string
	Size     int64     // bytes
	Modified time.Time // its last publication
}

// Walk calls yield for each blob that spare does not name, in no particular order, until it returns false; a nil spare names
// none. Other files are skipped.
func (s *Store) Walk(spare func(sha256 string) bool, yield func(Found) bool) error {
	err := list(s.blobs, func(e fs.DirEntry) (bool, error) { return look(e, spare, yield) })
	if err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	return nil
}

// look is Walk of one entry. It does not even lstat spared ones.
func look(e fs.DirEntry, spare func(string) bool, yield func(Found) bool) (bool, error) {
	if isBlob := Check(e.Name()) == nil; !isBlob || spare != nil && spare(e.Name()) {
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
	gate, err := lock(s.Ingests(), func(f *os.File) error { return flock.Lock(f, flock.Exclusive) })
	if err != nil {
		return nil, nil, err
	}
	defer gate.Close()
	err = list(s.Ingests(), func(e fs.DirEntry) (bool, error) {
		if spare != nil && spare(e.Name()) {
			return true, nil
		}
		path := filepath.Join(s.Ingests(), e.Name())
		switch err := ifDead(path, e, do); {
		case errors.Is(err, flock.ErrHeld):
			held = append(held, path)
		case errors.Is(err, fs.ErrNotExist): // its owner has just removed it
		case err != nil:
			return false, err
		default:
			dead = append(dead, path)
		}
		return true, nil
	})
	if err != nil {
		return dead, held, fmt.Errorf("ingest: %w", err)
	}
	return dead, held, nil
}

// ifDead calls do for an ingest directory whose lock is free, or for a file of an earlier version, while holding the lock itself.
func ifDead(path string, e fs.DirEntry, do func(string) error) error {
	if !e.IsDir() {
		return do(path)
	}
	f, err := flock.TryDir(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(path)
}
