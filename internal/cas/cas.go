// Package cas keeps files in a directory under their SHA-256, as the blobs of an OCI image layout: <hex> in the directory of
// blobs. Each is made in a directory of its owner below ingest/, gets its name when it is whole and durable, and never changes
// afterwards; every read to the end verifies it.
//
// A store belongs to one user; any number of that user's processes may use it at once, and each may be killed at any time: a
// blob is whole or absent.
package cas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/owned"
)

// ErrCorrupt is returned for a blob whose contents do not match its name.
var ErrCorrupt = errors.New("blob is corrupt")

const ingestDir = "ingest"

// Store is a directory of blobs.
type Store struct {
	dir    string
	blobs  string
	opened fs.FileInfo // of the directory of blobs

	// Copies says that each blob is only a copy of one elsewhere: the directory may be replaced while the store is open.
	Copies bool
}

// Open opens the store in dir, whose blobs are in the directory blobs below it, such as "sha256", and makes missing parts of it,
// for its owner only. It refuses a directory that belongs to another user or that others may write to.
func Open(dir, blobs string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, blobs: filepath.Join(dir, blobs)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir) // a symlink is the user's way to put blobs elsewhere
	if err == nil {
		err = private(dir, info)
	}
	if err == nil {
		_, err = makeDir(s.Ingests())
	}
	if parent := filepath.Dir(s.blobs); err == nil && parent != dir {
		_, err = makeDir(parent)
	}
	if err == nil {
		s.opened, err = makeDir(s.blobs)
	}
	return s, err
}

// makeDir makes a missing directory, durably.
func makeDir(path string) (fs.FileInfo, error) {
	err := os.Mkdir(path, 0o700)
	if err == nil {
		err = errors.Join(atomicfile.SyncDir(filepath.Dir(path)), atomicfile.SyncDir(filepath.Dir(filepath.Dir(path))))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return info, private(path, info)
}

// private refuses what other users could change.
func private(path string, info fs.FileInfo) error {
	switch err := owned.CheckInfo(info, owned.Write); {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link; link the directory of the whole store instead", path)
	case !info.IsDir():
		return fmt.Errorf("%s is no directory; move it away", path)
	case err != nil:
		return fmt.Errorf("%s: %w; run chmod go-w on it, or name a directory of your own", path, err)
	}
	return nil
}

// Dir is the store's directory, absolute.
func (s *Store) Dir() string { return s.dir }

// Ingests is the directory of the ingest directories.
func (s *Store) Ingests() string { return filepath.Join(s.dir, ingestDir) }

// Path returns the path of the blob's file, which may be missing. An invalid digest is an error.
func (s *Store) Path(sha256 string) (string, error) {
	if err := Check(sha256); err != nil {
		return "", err
	}
	return filepath.Join(s.blobs, sha256), nil
}

// Size returns the size of a blob in bytes, or an error that is fs.ErrNotExist. It does not read the blob.
func (s *Store) Size(sha256 string) (int64, error) {
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

// Remove removes a blob; a missing one is no error.
func (s *Store) Remove(sha256 string) error {
	path, err := s.Path(sha256)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %s: %w", sha256, err)
	}
	return nil
}

// CheckReplaced returns an error if the directory of blobs is no longer the one that was opened: then it lacks what was
// published.
func (s *Store) CheckReplaced() error {
	now, err := os.Lstat(s.blobs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(s.opened, now) {
		return fmt.Errorf("blob store %s: the directory has been removed or replaced since this command opened it; put it back, or a copy of it from a backup", s.dir)
	}
	return nil
}

// Check accepts only a safe file name: 64 lower-case hexadecimal digits.
func Check(sha256 string) error {
	if len(sha256) != 64 {
		return fmt.Errorf("%.80q is no sha256 digest: it has %d characters, not 64", sha256, len(sha256))
	}
	for _, c := range []byte(sha256) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return fmt.Errorf("%q is no sha256 digest: only 0-9 and a-f occur in one", sha256)
		}
	}
	return nil
}
