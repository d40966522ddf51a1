package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The lock (flock(2)) of a root's directory is shared to use the root, and exclusive to make, exchange or remove it. The
// kernel drops it with its holder. A directory may be renamed or removed while another process waits for its lock, so the
// name is checked again afterwards.

// ErrInUse is returned for a root in use.
var ErrInUse = errors.New("runs are using it")

// opened opens a directory of the store and waits for its lock. A missing one is fs.ErrNotExist.
func opened(ctx context.Context, path string, how int) (*os.File, error) {
	for {
		f, err := openDir(path)
		if err != nil {
			return nil, err
		}
		if err := wait(ctx, f, how); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if named(f, path) {
			return f, nil
		}
		f.Close()
	}
}

// claimed makes a missing directory and waits for its lock.
func claimed(ctx context.Context, path string) (*os.File, error) {
	for {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		f, err := opened(ctx, path, unix.LOCK_EX)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
}

// idle opens an unused directory and locks it exclusively, or returns ErrInUse.
func idle(path string) (*os.File, error) {
	f, err := openDir(path)
	if err != nil {
		return nil, err
	}
	switch err = flock(f, unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		err = ErrInUse
	case err == nil && !named(f, path):
		err = &os.PathError{Op: "lock", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// wait takes a lock that may be held for as long as unpacking takes. flock(2) itself cannot be canceled.
func wait(ctx context.Context, f *os.File, how int) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := flock(f, how|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// named reports whether an open directory still has the name.
func named(f *os.File, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(there, info)
}
