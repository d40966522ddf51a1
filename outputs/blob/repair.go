package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/cas"
)

// Repair replaces or restores a blob in the store from a copy of its content. A copy of other content is cas.ErrCorrupt; then
// nothing has changed.
func (s *Store) Repair(ctx context.Context, sha256 string, from io.Reader) (err error) {
	ingest, err := s.NewIngest("repair")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ingest.Close()) }() // until then gc skips it
	if _, err := ingest.Put(sha256, from); err != nil {
		return fmt.Errorf("repair blob %.80s: %w", sha256, err)
	}
	if err := ingest.Sync(); err != nil {
		return err
	}
	_, err = s.RepairFromCache(ctx, sha256)
	return err
}

// RepairFromCache restores a blob of a shared store from the copy in the directory, and reports whether there is one.
func (s *Store) RepairFromCache(ctx context.Context, sha256 string) (repaired bool, err error) {
	if s.remote == nil {
		return false, nil
	}
	f, err := s.Verified(sha256)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, cas.ErrCorrupt) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := s.remote.Replace(ctx, sha256, f); err != nil {
		return false, err
	}
	return true, nil
}
