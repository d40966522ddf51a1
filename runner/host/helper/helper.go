// Package helper opens a program that is installed in the directory of the program that executes it, after it has checked that both are of one
// build and equally hard to change, and reads from its standard error why it failed.
package helper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// Open opens the program name in the directory of the program that link (/proc/PID/exe) points to. It must be of the build, the SHA-256 in
// hex that scripts/build has linked into that other program, and writable only by those who can write that other program:
// they may share a directory such as /tmp. If there is no such file, the error is fs.ErrNotExist. The descriptor is above last.
func Open(link, name, build string, last int) (_ *os.File, err error) {
	own, err := os.Stat(link)
	if err != nil {
		return nil, err
	}
	path, err := os.Readlink(link)
	if err != nil {
		return nil, err
	}
	path = filepath.Join(filepath.Dir(path), name)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if fd, err = above(last, fd); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), path)
	if err := check(file, own, stamp(name, build)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
	}
	return file, nil
}

// check refuses a program that must not be executed by one whose file is own.
func check(file *os.File, own fs.FileInfo, stamp string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := asTrusted(info, own); err != nil {
		return err
	}
	if err := ofBuild(file, info.Size(), stamp); err != nil {
		return err
	}
	// A noexec mount or an access list may forbid what the mode allows.
	return os.NewSyscallError("access", unix.Access(inode.ProcPath(file), unix.X_OK))
}

// above moves a descriptor above last: a process that is started gets those up to last, and sets them before it executes.
func above(last, fd int) (int, error) {
	if fd > last {
		return fd, nil
	}
	defer unix.Close(fd)
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, last+1)
}

var (
	errNotRegular = errors.New("it is not a regular file that all users of scidex-oci may execute")
	errWritable   = errors.New("others may write to it than to scidex-oci")
	errOtherBuild = errors.New("it was not built with this scidex-oci")
)

// asTrusted compares who may write and execute two files.
func asTrusted(info, own fs.FileInfo) error {
	its, caller := info.Sys().(*syscall.Stat_t), own.Sys().(*syscall.Stat_t)
	missing := caller.Mode &^ its.Mode
	added := its.Mode &^ caller.Mode
	switch {
	case !info.Mode().IsRegular() || missing&0o111 != 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return errNotRegular
	case its.Uid != caller.Uid && its.Uid != 0,
		its.Mode&unix.S_IWGRP != 0 && its.Gid != caller.Gid,
		added&(unix.S_IWGRP|unix.S_IWOTH) != 0:
		return errWritable
	}
	return nil
}

// ofBuild checks what scripts/build appended to the program.
func ofBuild(file *os.File, size int64, want string) error {
	got := make([]byte, len(want))
	if _, err := file.ReadAt(got, size-int64(len(want))); err != nil || string(got) != want {
		return errOtherBuild
	}
	return nil
}

func stamp(name, build string) string { return "\n" + name + " " + build + "\n" }
