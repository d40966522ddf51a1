package stores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/request"
)

// checkNew refuses to make a catalog file if the blob store, or what lies below the root, belongs to a missing catalog:
// an empty catalog instead would answer that there are no runs.
func (s Settings) checkNew(ctx context.Context) error {
	id, err := s.blobsOf(ctx)
	switch {
	case err != nil:
		return err
	case id != "":
		return s.refuse(fmt.Sprintf("the blob store belongs to catalog %s", id))
	}
	found, err := s.records()
	if err == nil && found != "" {
		err = s.refuse(found + " is of a run")
	}
	return err
}

func (s Settings) refuse(evidence string) error {
	anew := "--root DIR"
	if s.Blobs.remote() || s.Blobs.dir != filepath.Join(s.Root, "blobs") {
		anew = "--root DIR and --blobs URL"
	}
	return &request.Error{Err: fmt.Errorf("the file is missing or empty, and %s: restore it from a backup, name the catalog of these runs with --db URL, or begin a new one with another %s",
		evidence, anew)}
}

// blobsOf is the id of the catalog that the blob store belongs to. It makes nothing: a store without its directory was not
// used here.
func (s Settings) blobsOf(ctx context.Context) (string, error) {
	switch _, err := os.Stat(s.Blobs.dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	blobs, err := s.Blobs.open()
	if err != nil {
		return "", err
	}
	return blobs.CatalogID(ctx)
}

// records is a record that a run of this root left, "" for none.
func (s Settings) records() (string, error) {
	for _, name := range []string{"runs", "outcomes"} {
		dir := filepath.Join(s.Root, name)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if len(entries) > 0 {
			return filepath.Join(dir, entries[0].Name()), nil
		}
	}
	return "", nil
}
