package cgroup

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A run reads and writes some fifty of the kernel's files. With os.File each of them would be looked at by the runtime's
// poller, which takes longer than the file.

// write opens without O_TRUNC and O_CREAT: a file that is missing is an error. The kernel takes a value whole or not.
func write(dir, file, value string) error {
	path := filepath.Join(dir, file)
	fd, err := open(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = uninterrupted("write", path, func() (int, error) { return unix.Write(fd, []byte(value)) })
	return err
}

// read returns the contents without the white space around them.
func read(dir, file string) (string, error) {
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

// uninterrupted repeats a call that a signal has interrupted (signal(7)).
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
