package layout

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// The locks of a layout:
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
	if err := flock.Wait(ctx, f, flock.Shared); err != nil {
		f.Close()
		return nil, fmt.Errorf("image layout: lock %s: %w", f.Name(), err)
	}
	return f.Close, nil
}

// lockDir opens a directory and waits for its lock, held by the returned file.
func lockDir(dir string, kind int) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := flock.Lock(f, kind); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}
