// Package blob is a content-addressed store of files, laid out as the blobs of an OCI image layout: blobs/sha256/<hex>.
// Files enter through an ingest directory beside them, by rename, and never change afterwards; every read to the end
// verifies them.
//
// A directory belongs to one user; any number of that user's processes may use it at once. The blobs may also be remote
// (Remote), shared by several hosts: then the directory is where they are made before they are uploaded.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// ErrCorrupt is returned for a blob whose contents do not match its name.
var ErrCorrupt = errors.New("blob is corrupt")

// The layout below the store's directory.
const (
	blobsDir  = "sha256"
	ingestDir = "ingest"
	idFile    = "catalog_id"
)

// Store is a blob store in a directory of the caller's, or a remote one with a local directory for uploads.
type Store struct {
	dir    string
	remote Remote      // nil: the blobs are in dir
	blobs  fs.FileInfo // of the directory of blobs when the store was opened

	mu    sync.Mutex
	bound string // CatalogID when it was last read or set; empty: none
}

// Open opens the store in dir, the "blobs" directory itself, and makes missing parts of it, for its owner only. It refuses a
// directory that belongs to another user or that others may write to: they could replace what the catalog refers to.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		err = makeStore(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", dir, err)
	}
	blobs, err := os.Lstat(filepath.Join(abs, blobsDir))
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", dir, err)
	}
	return &Store{dir: abs, blobs: blobs}, nil
}

// Dir is the store's directory, absolute.
func (s *Store) Dir() string { return s.dir }

func makeStore(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir) // a symlink is the user's way to put blobs elsewhere
	if err != nil {
		return err
	}
	if err := private(dir, info); err != nil {
		return err
	}
	made := false
	for _, name := range []string{blobsDir, ingestDir} {
		path := filepath.Join(dir, name)
		switch err := os.Mkdir(path, 0o700); {
		case err == nil:
			made = true
		case !errors.Is(err, fs.ErrExist):
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if err := private(path, info); err != nil {
			return err
		}
	}
	if made {
		return errors.Join(atomicfile.SyncDir(dir), atomicfile.SyncDir(filepath.Dir(dir)))
	}
	return nil
}

// private refuses what other users could change.
func private(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no directory; move it away", path)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s does not belong to the calling user (uid %d); name a directory of your own", path, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written to by others (mode %04o); run: chmod go-w %s", path, info.Mode().Perm(), path)
	}
	return nil
}

// Path returns where the blob's file is or would be on this host. An invalid digest is an error.
func (s *Store) Path(sha256 string) (string, error) {
	if err := checkDigest(sha256); err != nil {
		return "", err
	}
	return filepath.Join(s.dir, blobsDir, sha256), nil
}

// Size returns the size of a blob in bytes, or an error that is fs.ErrNotExist.
func (s *Store) Size(ctx context.Context, sha256 string) (int64, error) {
	if err := checkDigest(sha256); err != nil {
		return 0, err
	}
	if s.remote != nil {
		return s.remote.Size(ctx, sha256)
	}
	return s.sizeHere(sha256)
}

func (s *Store) sizeHere(sha256 string) (int64, error) {
	path, err := s.Path(sha256)
	if err != nil {
		return 0, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return 0, fmt.Errorf("blob %s: %w", sha256, err)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("blob %s: %w: not a regular file", sha256, ErrCorrupt)
	}
	return info.Size(), nil
}

// Has reports whether the store has the blob; it does not read it.
func (s *Store) Has(ctx context.Context, sha256 string) (bool, error) {
	_, err := s.Size(ctx, sha256)
	return there(err)
}

func there(err error) (bool, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// checkDigest accepts only a safe file name: 64 lower-case hexadecimal digits.
func checkDigest(sha256 string) error {
	if len(sha256) != 64 {
		return fmt.Errorf("%q is no sha256 digest: it has %d characters, not 64", clip(sha256), len(sha256))
	}
	for _, c := range []byte(sha256) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("%q is no sha256 digest: only 0-9 and a-f occur in one", sha256)
		}
	}
	return nil
}

func clip(s string) string { return format.Cut(s, 80) }
