package layout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The locks (flock(2)) of a layout; a kill leaves none behind:
//
//  - the layout's directory: exclusive to change index.json, briefly.
//  - blobs/sha256: shared to add blobs that no name reaches yet (Hold), exclusive for Sweep, so that no blob vanishes
//    before it is named.
//  - a partial file in ingest: exclusive for the one Writer of this blob.

// Hold keeps Sweep from removing any blob until release is called. To look for or add blobs and name them later, hold
// before the first look and until the name is set. Hold waits while a Sweep runs.
func (l *Layout) Hold(ctx context.Context) (release func() error, err error) {
	f, err := os.OpenFile(l.blobs(""), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("image layout: %w", err)
	}
	if err := await(ctx, f, unix.LOCK_SH); err != nil {
		f.Close()
		return nil, fmt.Errorf("image layout: lock %s: %w", f.Name(), err)
	}
	return f.Close, nil
}

// await takes a lock that may be held for the length of a download; flock(2) itself cannot be canceled.
func await(ctx context.Context, f *os.File, how int) error {
	const shortest, longest = 2 * time.Millisecond, 200 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		err := flock(f, how|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// flockDir opens a directory and waits for its lock, held by the returned file.
func flockDir(dir string, how int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := flock(f, how); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
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
