// Package cgroupfs reads and writes the kernel's files of control groups, of both versions, and what /proc says of them. A Chain
// finds the limit, of several nested groups, at which the kernel killed.
package cgroupfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A run accesses some fifty kernel files. os.File would register each with the runtime's poller, which takes longer than
// the access.

// Write uses neither O_TRUNC nor O_CREAT: a missing file is an error. The kernel takes a value whole or not.
func Write(dir, file, value string) error {
	path := filepath.Join(dir, file)
	fd, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = uninterrupted("write", path, func() (int, error) { return unix.Write(fd, []byte(value)) })
	return err
}

// Read returns the contents without surrounding white space.
func Read(dir, file string) (string, error) {
	path := filepath.Join(dir, file)
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	for raw := make([]byte, 0, 4096); ; raw = slices.Grow(raw, 4096) {
		n, err := uninterrupted("read", path, func() (int, error) { return unix.Read(fd, raw[len(raw):cap(raw)]) })
		if n <= 0 || err != nil {
			return strings.TrimSpace(string(raw)), err
		}
		raw = raw[:len(raw)+n]
	}
}

func open(path string, flags int) (fd int, err error) {
	return uninterrupted("open", path, func() (int, error) { return unix.Open(path, flags|unix.O_CLOEXEC, 0) })
}

// uninterrupted retries a call interrupted by a signal (signal(7)).
func uninterrupted(op, path string, call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err == nil {
			return n, nil
		}
		if !errors.Is(err, unix.EINTR) {
			return n, &fs.PathError{Op: op, Path: path, Err: err}
		}
	}
}
