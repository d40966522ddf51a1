package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// The copies of a shared store's blobs that Trim keeps here, in bytes, and how often it runs.
const (
	cacheMost = 4 << 30
	trimEvery = time.Minute
)

// trimFile is touched after each Trim.
const trimFile = "trimmed"

// Trim removes the oldest copies of a shared store's blobs if there are more than 4 GiB of them, except those that needed
// names. It does nothing within a minute of the last time, nor while a run of this host is between publication and commit.
func (s *Store) Trim(needed func() (func(sha256 string) bool, error)) error {
	if s.remote == nil {
		return nil
	}
	mark := filepath.Join(s.Dir(), trimFile)
	info, err := os.Stat(mark)
	if err == nil && time.Since(info.ModTime()) < trimEvery || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(os.Chtimes(mark, now, now), s.trim(cacheMost, needed))
}

func (s *Store) trim(most int64, needed func() (func(sha256 string) bool, error)) error {
	release, err := s.TrySweep()
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	var all []cas.Found
	total := int64(0)
	err = s.Store.Walk(nil, func(f cas.Found) bool {
		all, total = append(all, f), total+f.Size
		return true
	})
	if err != nil || total <= most {
		return err
	}
	keep, err := needed()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b cas.Found) int { return a.Modified.Compare(b.Modified) })
	for _, f := range all {
		if total <= most/2 { // so not every run trims
			break
		}
		if keep(f.SHA256) {
			continue
		}
		if err := s.Store.Remove(f.SHA256); err != nil {
			return err
		}
		total -= f.Size
	}
	return nil
}

// EmptyCache removes all copies of a shared store's blobs, except those that needed names. It does nothing while a run of
// this host is between publication and commit: an upload may last until the next run has started.
func (s *Store) EmptyCache(needed func() (func(sha256 string) bool, error)) error {
	if s.remote == nil {
		return nil
	}
	return s.trim(0, needed)
}
