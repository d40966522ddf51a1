package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The lock (flock(2)) of a root's directory is shared by whoever uses the root and exclusive for whoever makes,
// exchanges or removes it. The kernel drops it with its holder. A directory may be renamed or removed while
// somebody waits for its lock, so the name is looked up once more after the wait.

// ErrInUse is returned for a root that others use.
var ErrInUse = errors.New("runs are using it")

// opened opens a directory of the store and waits for its lock. One that is not there is fs.ErrNotExist.
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

// claimed makes a directory, where it is missing, and waits for its lock.
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

// idle opens a directory that nobody uses, and keeps others from using it, or returns ErrInUse.
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

// wait takes a lock that may be held for as long as unpacking takes. flock(2) itself could not be canceled.
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

// named reports whether an open directory still has this name.
func named(f *os.File, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(there, info)
}
