// Package store checks, repairs and copies a catalog together with its blob store. Every row that it writes names blobs
// that are there; it can be interrupted and started again at any moment.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Store is a catalog and the blobs that its rows name.
type Store struct {
	Catalog catalog.Catalog
	Blobs   *blob.Store
}

// reference is one reference of a run to a blob.
type reference struct {
	key    catalog.Key
	what   string // the output's path, or another kind
	output string // the path of an output
	sha256 string
	size   int64 // -1 if the catalog does not know it
}

// references calls yield for each blob that a run names.
func (s Store) references(ctx context.Context, run catalog.Run, yield func(reference) error) error {
	for _, digest := range run.Blobs {
		if err := yield(reference{key: run.Key, what: "a log or the script", sha256: digest, size: -1}); err != nil {
			return err
		}
	}
	if !run.OutputsRemovedAt.IsZero() {
		return nil // only the rows of its outputs are kept
	}
	var failed error
	err := s.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" {
			failed = yield(reference{run.Key, "output " + outputs.Escape(e.Path), string(e.Path), e.SHA256, e.Size})
		}
		return failed == nil
	})
	return errors.Join(failed, err)
}

// problem describes an error of a reference's blob, by its name and size, or is "".
func (s Store) problem(ctx context.Context, r reference) (string, error) {
	size, err := s.Blobs.Size(ctx, r.sha256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing", s.unlessThere(ctx, r.sha256, err)
	case errors.Is(err, cas.ErrCorrupt):
		return "not a regular file", nil
	case err != nil:
		return "", err
	case r.size >= 0 && size != r.size:
		return fmt.Sprintf("has %d bytes, not %d", size, r.size), nil
	}
	return "", nil
}

// unlessThere returns the error of a blob that was said to be missing, if a second look finds it: its file system fails, or it was just
// published.
func (s Store) unlessThere(ctx context.Context, sha256 string, err error) error {
	there, failed := s.Blobs.Has(ctx, sha256)
	if there {
		failed = fmt.Errorf("blob %s was not found, and is there: try again, and look at the file system: %w", sha256, err)
	}
	return failed
}
