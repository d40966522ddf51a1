// Package store looks at a catalog and its blob store together: whether they fit, and how both get elsewhere.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Store is a catalog and the blobs that its rows name.
type Store struct {
	Catalog catalog.Catalog
	Blobs   *blob.Store
}

// reference is one place where a run names a blob.
type reference struct {
	key    catalog.Key
	what   string // the output's path, or what else it is
	output string // the path of an output
	sha256 string
	size   int64 // -1 where the catalog does not know it
}

// references calls yield for each blob that a run names.
func (s Store) references(ctx context.Context, run catalog.Run, yield func(reference) error) error {
	for _, digest := range run.Blobs {
		if err := yield(reference{key: run.Key, what: "a log or the script", sha256: digest, size: -1}); err != nil {
			return err
		}
	}
	if !run.OutputsRemovedAt.IsZero() {
		return nil // of its outputs only the rows are kept
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

// problem is what is wrong with the blob of a reference, by its name and size, or "".
func (s Store) problem(ctx context.Context, r reference) (string, error) {
	size, err := s.Blobs.Size(ctx, r.sha256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "missing", nil
	case errors.Is(err, blob.ErrCorrupt):
		return "not a regular file", nil
	case err != nil:
		return "", err
	case r.size >= 0 && size != r.size:
		return fmt.Sprintf("has %d bytes, not %d", size, r.size), nil
	}
	return "", nil
}
