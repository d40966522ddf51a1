// Package flock locks files and directories of scidex-oci by flock(2), and ranges of files by record locks. The kernel
// drops a lock when the last descriptor of its open file is closed: a killed process leaves none, and a child that is
// just started may keep one until it executes.
package flock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
)

// The kinds of locks. Any number of open files have a shared one, or one has an exclusive one.
const (
	Shared    = unix.LOCK_SH
	Exclusive = unix.LOCK_EX
)

// ErrHeld is the error if another open file has the lock.
var ErrHeld error = unix.EWOULDBLOCK

// Try takes a lock, or fails with ErrHeld. A lock of the other kind that f has is dropped first, also on failure (flock(2)).
func Try(f *os.File, kind int) error { return flock(f, kind|unix.LOCK_NB) }

// Lock waits for a lock, in the kernel.
func Lock(f *os.File, kind int) error { return flock(f, kind) }

// Wait is Lock that ends with ctx, with its cause. It polls, since flock(2) cannot be canceled.
func Wait(ctx context.Context, f *os.File, kind int) error {
	for pause := (backoff.Backoff{First: time.Millisecond, Longest: 100 * time.Millisecond}); ; {
		if err := Try(f, kind); !errors.Is(err, ErrHeld) {
			return err
		}
		if !pause.Wait(ctx) {
			return context.Cause(ctx)
		}
	}
}

// Held reports whether another open file has an exclusive lock. It takes a shared one for a moment.
func Held(f *os.File) (bool, error) {
	err := Try(f, Shared)
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, flock(f, unix.LOCK_UN)
}

// Release unlocks and closes a file. To close it only would leave the lock to a child that is just started.
func Release(f *os.File) error { return errors.Join(flock(f, unix.LOCK_UN), f.Close()) }

// Missing reports whether an error of these functions says that the file system has no such locks (NFS has none for directories).
func Missing(err error) bool {
	return errors.Is(err, unix.EBADF) || errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP)
}

// Open opens a file with the flags of open(2), never through a symbolic link, and waits for its lock until ctx ends. The last
// holder may have renamed or removed what it had locked: then Open starts again with what has the name now.
func Open(ctx context.Context, path string, flags int, mode uint32, kind int) (*os.File, error) {
	return open(path, flags, mode, func(f *os.File) error { return Wait(ctx, f, kind) })
}

// TryOpen is Open that fails with ErrHeld instead of waiting.
func TryOpen(path string, flags int, mode uint32, kind int) (*os.File, error) {
	return open(path, flags, mode, func(f *os.File) error { return Try(f, kind) })
}

// TryDir is TryOpen of a directory for its exclusive lock.
func TryDir(path string) (*os.File, error) {
	return TryOpen(path, unix.O_RDONLY|unix.O_DIRECTORY, 0, Exclusive)
}

// MakeDir makes a missing directory, for its owner only, and waits for its exclusive lock until ctx ends.
func MakeDir(ctx context.Context, path string) (*os.File, error) {
	for {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		f, err := Open(ctx, path, unix.O_RDONLY|unix.O_DIRECTORY, 0, Exclusive)
		if !errors.Is(err, fs.ErrNotExist) { // the last holder has removed it
			return f, err
		}
	}
}

func open(path string, flags int, mode uint32, lock func(*os.File) error) (*os.File, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		f := os.NewFile(uintptr(fd), path)
		err = lock(f)
		named := false
		if err == nil {
			named, err = Named(f, path)
		}
		if named {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
}

// Named reports whether an open file still has the name.
func Named(f *os.File, path string) (bool, error) {
	open, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(open, named), err
}

// Range is a range of bytes of a file, To not included. The file need not have bytes at these offsets.
type Range struct{ From, To int64 }

// Locked returns the parts of a range, in order, on which other open files have a record lock (fcntl(2), "Open file description
// locks"), one part for each lock unless they overlap.
func Locked(f *os.File, from, to int64) ([]Range, error) {
	if from >= to {
		return nil, nil
	}
	other := unix.Flock_t{Type: unix.F_WRLCK, Start: from, Len: to - from}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &other); err != nil || other.Type == unix.F_UNLCK { // or any one of them
		return nil, err
	}
	found := Range{max(from, other.Start), to}
	if other.Len > 0 { // 0 is up to the end
		found.To = min(to, other.Start+other.Len)
	}
	before, err := Locked(f, from, found.From)
	after, failed := Locked(f, found.To, to)
	return slices.Concat(before, []Range{found}, after), errors.Join(err, failed)
}

// LockRange sets a record lock of the kind F_WRLCK, F_RDLCK or F_UNLCK on a range. If another open file has one that conflicts, it
// waits with F_OFD_SETLKW and fails with EAGAIN for F_OFD_SETLK.
func LockRange(f *os.File, how int, kind int16, r Range) error {
	for {
		err := unix.FcntlFlock(f.Fd(), how, &unix.Flock_t{Type: kind, Start: r.From, Len: r.To - r.From})
		if !errors.Is(err, unix.EINTR) {
			return err
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
