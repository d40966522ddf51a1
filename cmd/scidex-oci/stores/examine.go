package stores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/store"
)

// Examine opens the catalog and the blob store if both exist, checks that they belong together, and describes what it
// found. It makes or migrates a schema in PostgreSQL, as any command does.
func (s Settings) Examine(ctx context.Context, version string, log io.Writer) (string, error) {
	blobs := s.Blobs.dir
	if s.Blobs.remote() { // it is asked itself
		blobs = ""
	}
	missing, err := firstMissing(s.db.file, blobs)
	if err != nil {
		return "", err
	}
	if missing != "" {
		seen := missing + " is not there yet: the first run makes it"
		if s.db.file != "" {
			if missing == s.db.file {
				err = s.checkNew(ctx)
			}
			return seen, err
		}
		c, err := s.db.open(ctx)
		if err != nil {
			return "", err
		}
		return seen, c.Close()
	}
	st, err := Open(ctx, s, Policy{}, version, log)
	if err != nil {
		return "", err
	}
	id, _, err := store.Match(ctx, st.Host.Catalog, st.Host.Blobs)
	return fmt.Sprintf("catalog %s, with its blob store", id), errors.Join(err, st.Close())
}

// firstMissing is the first path that does not exist. Empty paths are ignored.
func firstMissing(paths ...string) (string, error) {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", nil
}
