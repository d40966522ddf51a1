package layout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The locks (flock(2)) of a layout, none of which a kill leaves behind:
//
//   - the layout's directory: exclusive for whoever changes index.json, for a moment.
//   - blobs/sha256: shared by whoever puts blobs there that no name reaches yet (Hold), exclusive for Sweep. So no
//     blob vanishes between its arrival and the name that leads to it.
//   - a partial file in ingest: exclusive for the one Writer that makes this blob.

// Hold keeps Sweep from removing any blob until release is called. Whoever looks for blobs or puts them there, to
// give them a name later, holds before the first look and until the name is given. It waits while a Sweep runs.
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

// await takes a lock that may be held for as long as a download takes; flock(2) itself could not be canceled.
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

// flockDir opens a directory and waits for its lock, which the returned file holds.
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
