package image

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// The lock of a root's directory is shared to use the root, and exclusive to make, exchange or remove it.

// ErrInUse is returned for a root in use.
var ErrInUse = errors.New("runs are using it")

// opened opens a directory of the store and waits for its lock. A missing one is fs.ErrNotExist.
func opened(ctx context.Context, path string, kind int) (*os.File, error) {
	return flock.Open(ctx, path, unix.O_RDONLY|unix.O_DIRECTORY, 0, kind)
}

// lockUnused opens an unused directory and locks it exclusively, or returns ErrInUse.
func lockUnused(path string) (*os.File, error) {
	f, err := flock.TryDir(path)
	if errors.Is(err, flock.ErrHeld) {
		err = ErrInUse
	}
	return f, err
}

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}
