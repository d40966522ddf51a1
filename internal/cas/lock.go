package cas

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Three kinds of directories serve as locks:
//
//   - that of the blobs: shared from publishing or finding a blob until something names it, exclusive to compare the store
//     with what is named and to remove. So no blob vanishes between its publication, or the look-up that finds it, and the
//     commit that names it.
//   - each directory in ingest/: exclusive for its owner, so that nobody removes the files of a living one.
//   - ingest/: shared to make a directory in it, exclusive to look for dead ones. So a directory is never seen between its
//     creation and its owner's lock. TakeIngest does without it: it makes a directory again that was removed.

// Hold keeps all blobs from being removed until release is called. To name an existing blob, take it before the look-up, and
// release it when the blob has its name.
func (s *Store) Hold(ctx context.Context) (release func() error, err error) {
	return closing(lock(s.blobs, func(f *os.File) error { return flock.Wait(ctx, f, flock.Shared) }))
}

// Sweep waits until nobody is between publishing or finding a blob and naming it, and blocks that until release is
// called. Until then, read which blobs are named and Remove the others. A process must not call it while an Ingest of
// its own has published and is not closed.
func (s *Store) Sweep() (release func() error, err error) {
	return closing(lock(s.blobs, func(f *os.File) error { return flock.Lock(f, flock.Exclusive) }))
}

// TrySweep is Sweep that fails with flock.ErrHeld instead of waiting.
func (s *Store) TrySweep() (release func() error, err error) {
	return closing(lock(s.blobs, func(f *os.File) error { return flock.Try(f, flock.Exclusive) }))
}

func closing(f *os.File, err error) (func() error, error) {
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// lock opens a directory and takes its lock, which the returned file holds.
func lock(dir string, take func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("blob store: %w", err)
	}
	if err := take(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("blob store: lock %s: %w", f.Name(), err)
	}
	return f, nil
}
