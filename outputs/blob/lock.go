package blob

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Two directories serve as locks, both held only briefly or shared by many:
//
//   - sha256: shared by a process between publishing or finding a blob and its commit, exclusive for one that
//     compares the store with the catalog and removes. So no blob vanishes between its publication, or the lookup that
//     finds it, and the commit that names it.
//   - ingest: shared by a process that makes a directory in it, exclusive for one that looks for dead ones. So
//     a directory is never seen between its creation and its owner's lock.

// Hold blocks Sweep until release is called. To commit a row for an existing blob, take it before the lookup, and release it
// after the commit.
func (s *Store) Hold() (release func() error, err error) {
	f, err := s.lock(blobsDir, flock.Shared)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// Sweep blocks publication until release is called, and waits until no process is between publication and commit. Read the
// catalog and Remove unreferenced blobs while holding it. A process must not call it while an Ingest of its own has
// published and is not closed.
func (s *Store) Sweep() (release func() error, err error) {
	f, err := s.lock(blobsDir, flock.Exclusive)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// lock opens a directory of the store and waits for its lock, which the returned file holds.
func (s *Store) lock(name string, kind int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	if err := flock.Lock(f, kind); err != nil {
		f.Close()
		return nil, fmt.Errorf("blob store: lock %s: %w", f.Name(), err)
	}
	return f, nil
}
