package blob

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Two directories serve as locks (flock(2)), both held only shortly or by many at once:
//
//   - sha256: shared by whoever has published or found a blob and not yet committed it, exclusive for whoever
//     compares the store with the catalog and removes. So no blob vanishes between its publication, or the look that
//     finds it, and the commit that names it.
//   - ingest: shared by whoever makes a directory in it, exclusive for whoever looks for dead ones. So
//     a directory is never seen between being made and being locked by its owner.

// Hold keeps Sweep waiting until release is called. Whoever commits a row for a blob that was there already takes it
// before it looks, and releases it after the commit.
func (s *Store) Hold() (release func() error, err error) {
	f, err := s.lock(blobsDir, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// Sweep keeps others from publishing until release is called, and waits until none is between
// publication and commit. The removal of unreferenced blobs reads the catalog and calls Remove inside
// of it. A process must not call it while an Ingest of its own has published and is not closed.
func (s *Store) Sweep() (release func() error, err error) {
	f, err := s.lock(blobsDir, unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// lock opens a directory of the store and waits for its lock, which the returned file holds.
func (s *Store) lock(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	if err := flock(f, how); err != nil {
		f.Close()
		return nil, fmt.Errorf("blob store: lock %s: %w", f.Name(), err)
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
