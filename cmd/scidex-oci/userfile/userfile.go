// Package userfile opens files that a user names.
package userfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// maxRead bounds a file that is read whole, in bytes.
const maxRead = 1 << 20

// Read reads a small file, or stdin where name is "-" and there is one.
func Read(name string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if name != "-" || stdin == nil {
		f, all, err := Open(name, WriterWait)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = all
	}
	return ReadFrom(name, from)
}

// ReadFrom reads a small file that is open; name is for messages.
func ReadFrom(name string, from io.Reader) ([]byte, error) {
	data, err := bounded.ReadAll(from, maxRead)
	if named := (*fs.PathError)(nil); err != nil && !errors.As(err, &named) {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	return data, err
}

// WriterWait is how long a FIFO that a user named may stay without a writer.
const WriterWait = 5 * time.Second

// Open opens a file that a user named: a regular file, or a pipe or device to be read once. The open of a FIFO waits for a
// writer, forever (fifo(7)), so it does not block; a FIFO without a writer within wait is refused. from has all that the
// file holds. The error names the path.
func Open(path string, wait time.Duration) (f *os.File, from io.Reader, err error) {
	f, err = userdir.ReadAny(path)
	if errors.Is(err, unix.EISDIR) {
		return nil, nil, fmt.Errorf("%q is a directory; give a file", path)
	}
	if err != nil {
		return nil, nil, err
	}
	from, err = contentOf(f, wait)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, from, nil
}

func contentOf(f *os.File, wait time.Duration) (io.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeNamedPipe != 0 {
		return awaitWriter(f, wait)
	}
	return f, nil
}

// awaitWriter waits until a FIFO has or had a writer: a read reports the end of the file while it has none, and blocks while
// it has one. An unnamed pipe has had its writer.
func awaitWriter(f *os.File, wait time.Duration) (io.Reader, error) {
	from := bufio.NewReader(f)
	for end := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		_, err := from.Peek(1)
		if err == nil {
			return from, nil
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if had, err := hadWriter(f); had || err != nil {
			return from, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("%q is a FIFO, and nothing writes to it (waited %s); start its writer first", f.Name(), wait)
		}
	}
}

// hadWriter reports whether a FIFO that is at its end had a writer: the kernel reports a hangup only of those that came
// after the FIFO was opened.
func hadWriter(f *os.File) (had bool, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	outer := raw.Control(func(fd uintptr) { had, err = hungUp(int(fd)) })
	return had, errors.Join(outer, err)
}

func hungUp(fd int) (bool, error) {
	var system unix.Statfs_t
	if err := uninterrupted(func() error { return unix.Fstatfs(fd, &system) }); err != nil {
		return false, err
	}
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
	err := uninterrupted(func() error {
		_, err := unix.Poll(polled, 0)
		return err
	})
	return system.Type == unix.PIPEFS_MAGIC || polled[0].Revents&unix.POLLHUP != 0, err
}

// uninterrupted repeats a call that a signal cut short; the Go runtime sends itself some.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
