// Package blob is the store of the blobs that runs name: a directory (internal/cas), which belongs to one catalog, or a
// Remote, such as a bucket, that several hosts share. With a Remote, blobs are made in the directory before they are
// uploaded, and it has copies of them.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
)

// blobsDir and idFile are below the store's directory.
const (
	blobsDir = "sha256"
	idFile   = "catalog_id"
)

// Store is a blob store. The methods of cas.Store that it does not replace are about the directory.
type Store struct {
	*cas.Store
	remote Remote // nil: the blobs are in the directory

	mu    sync.Mutex
	bound string // CatalogID when it was last read or set; empty: none
}

// Open opens the store in dir, the "blobs" directory itself, and makes missing parts of it, for its owner only. It refuses a
// directory that belongs to another user or that others may write to: they could replace what the catalog refers to.
func Open(dir string) (*Store, error) {
	here, err := cas.Open(dir, blobsDir)
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", dir, err)
	}
	return &Store{Store: here}, nil
}

// Size returns the size of a blob in bytes, or an error that is fs.ErrNotExist.
func (s *Store) Size(ctx context.Context, sha256 string) (int64, error) {
	if err := cas.Check(sha256); err != nil {
		return 0, err
	}
	if s.remote != nil {
		return s.remote.Size(ctx, sha256)
	}
	return s.Store.Size(sha256)
}

// Has reports whether the store has the blob; it does not read it.
func (s *Store) Has(ctx context.Context, sha256 string) (bool, error) {
	_, err := s.Size(ctx, sha256)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Open opens a blob for reading. If its contents do not match the digest, the read that reaches the end returns cas.ErrCorrupt
// instead of io.EOF; a partial read verifies nothing. A missing blob is fs.ErrNotExist. A copy on this host of a shared
// store's blob is read instead, once it is verified.
func (s *Store) Open(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	if s.remote != nil {
		if f, err := s.Verified(sha256); err == nil {
			return cas.NewReader(f, sha256), nil
		}
	}
	return s.openKept(ctx, sha256)
}

// openKept opens a blob in the store itself, not a copy.
func (s *Store) openKept(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	if err := cas.Check(sha256); err != nil {
		return nil, err
	}
	var f io.ReadCloser
	var err error
	if s.remote != nil {
		f, err = s.remote.Open(ctx, sha256)
	} else {
		f, err = s.Store.Open(sha256)
	}
	if err != nil {
		return nil, err
	}
	return cas.NewReader(f, sha256), nil
}

// Verify reads a blob in the store itself, not a copy, to its end.
func (s *Store) Verify(ctx context.Context, sha256 string) error {
	f, err := s.openKept(ctx, sha256)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// Walk calls yield for each blob that spare does not name, in no particular order, until it returns false; a nil spare names
// none.
func (s *Store) Walk(ctx context.Context, spare func(sha256 string) bool, yield func(cas.Found) bool) error {
	if s.remote == nil {
		return s.Store.Walk(spare, yield)
	}
	return s.remote.Walk(ctx, func(f cas.Found) bool {
		return cas.Check(f.SHA256) != nil || spare != nil && spare(f.SHA256) || yield(f)
	})
}

// Remove deletes blobs that were not published since before, and returns them; a missing one is no error. First read, after
// before, that no catalog names them; if the store is a directory, do both while holding Sweep.
func (s *Store) Remove(ctx context.Context, blobs []cas.Found, before time.Time) ([]cas.Found, error) {
	if s.remote != nil {
		return s.remote.Remove(ctx, blobs, before)
	}
	for i, f := range blobs {
		if err := s.Store.Remove(f.SHA256); err != nil {
			return blobs[:i], err
		}
	}
	return blobs, nil
}

// CleanUploads aborts uploads to a shared store that killed hosts started before a time, and counts them.
func (s *Store) CleanUploads(ctx context.Context, before time.Time, dry bool) (int, error) {
	if s.remote == nil {
		return 0, nil
	}
	return s.remote.CleanUploads(ctx, before, dry)
}
