package sandbox

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

// build is the SHA-256 of the supervisor's own program (cmd/scidex-oci-supervisor) that was built with this one, in hex:
// scripts/build sets it. Where it is empty there is none, and this program is its own supervisor.
var build string

const (
	programName = "scidex-oci-supervisor"
	// itself is always of the launcher's build, also when its file has been replaced or removed.
	itself = "/proc/self/exe"
)

// program is what Launch executes.
type program struct {
	path string
	file *os.File // nil for itself
	// slow is why it is this program itself although another one lies beside it.
	slow error
}

// chooseProgram returns the small program beside this one where there is no doubt about it, and else this one, which
// does the same: no more than time is lost.
func chooseProgram() program {
	if build == "" {
		return program{path: itself}
	}
	file, err := openBeside(itself, build)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return program{path: itself} // a single file is all it takes
	case err != nil:
		return program{path: itself, slow: err}
	}
	// By its descriptor: what was looked at is what is executed.
	return program{path: inode.ProcPath(file), file: file}
}

func (p program) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// named says of an error of executing it which file that was, so that it can be mended.
func (p program) named(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Path == p.path {
		if name, err := os.Readlink(p.path); err == nil {
			failed.Path = name
		}
	}
	return err
}

// openBeside opens the supervisor's program that lies beside the program of which link is the kernel's link. It must be
// of the build, and be open for writing to nobody who could not write that other program: they may share a directory
// such as /tmp, where anybody makes files.
func openBeside(link, build string) (_ *os.File, err error) {
	own, err := os.Stat(link)
	if err != nil {
		return nil, err
	}
	path, err := os.Readlink(link)
	if err != nil {
		return nil, err
	}
	path = filepath.Join(filepath.Dir(path), programName)
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	if fd, err = above(socketFD, fd); err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), path)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := asTrusted(info, own); err != nil {
		return nil, err
	}
	if err := ofBuild(file, info.Size(), build); err != nil {
		return nil, err
	}
	// A mount with noexec, or an access list, may forbid what the mode allows.
	if err := unix.Access(inode.ProcPath(file), unix.X_OK); err != nil {
		return nil, os.NewSyscallError("access", err)
	}
	return file, nil
}

// above moves a descriptor out of the way of those up to last that a supervisor is given: the child puts them into their
// places before it executes.
func above(last, fd int) (int, error) {
	if fd > last {
		return fd, nil
	}
	defer unix.Close(fd)
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, last+1)
}

var (
	errNotRegular = errors.New("it is no regular file that whoever may execute scidex-oci may execute too")
	errWritable   = errors.New("others may write to it than to scidex-oci")
	errOtherBuild = errors.New("it was not built with this scidex-oci")
)

// asTrusted compares who may write to and execute two files.
func asTrusted(info, own fs.FileInfo) error {
	theirs, ours := info.Sys().(*syscall.Stat_t), own.Sys().(*syscall.Stat_t)
	missing := ours.Mode &^ theirs.Mode
	added := theirs.Mode &^ ours.Mode
	switch {
	case !info.Mode().IsRegular() || missing&0o111 != 0 || info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return errNotRegular
	case theirs.Uid != ours.Uid && theirs.Uid != 0,
		theirs.Mode&unix.S_IWGRP != 0 && theirs.Gid != ours.Gid,
		added&(unix.S_IWGRP|unix.S_IWOTH) != 0:
		return errWritable
	}
	return nil
}

// ofBuild looks for what scripts/build wrote behind the program.
func ofBuild(file *os.File, size int64, build string) error {
	want := stamp(build)
	got := make([]byte, len(want))
	if _, err := file.ReadAt(got, size-int64(len(want))); err != nil || string(got) != want {
		return errOtherBuild
	}
	return nil
}

func stamp(build string) string { return "\n" + programName + " " + build + "\n" }
