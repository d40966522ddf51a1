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
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

// build is the SHA-256, in hex, of the supervisor's program (cmd/scidex-oci-supervisor) built with this one;
// scripts/build sets it. If empty, this program is its own supervisor.
var build string

const (
	programName = "scidex-oci-supervisor"
	// itself is always the launcher's build, even if its file was replaced or removed.
	itself = "/proc/self/exe"
)

// program is what Launch executes.
type program struct {
	path string
	file *os.File // nil for itself
	// slow says why it is this program although another lies beside it.
	slow error
}

// chooseProgram returns the small program beside this one if it can be trusted, and else this one, which does the same
// but takes longer.
func chooseProgram() program {
	if build == "" {
		return program{path: itself}
	}
	file, err := openBeside(itself, build)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return program{path: itself} // a single file suffices
	case err != nil:
		return program{path: itself, slow: err}
	}
	// By its descriptor: the checked file is executed.
	return program{path: inode.ProcPath(file), file: file}
}

func (p program) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// named adds the file's name to an error of executing it.
func (p program) named(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Path == p.path {
		if name, err := os.Readlink(p.path); err == nil {
			failed.Path = name
		}
	}
	return err
}

// openBeside opens the supervisor's program beside the program that link (/proc/PID/exe) points to. It must be of this
// build, and writable only by those who can write that other program: they may share a directory such as /tmp.
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
	if fd, err = above(protocol.SocketFD, fd); err != nil {
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
	// A noexec mount or an access list may forbid what the mode allows.
	if err := unix.Access(inode.ProcPath(file), unix.X_OK); err != nil {
		return nil, os.NewSyscallError("access", err)
	}
	return file, nil
}

// above moves a descriptor above last: a supervisor gets those up to last, and the child sets them before it executes.
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

// ofBuild checks what scripts/build appended to the program.
func ofBuild(file *os.File, size int64, build string) error {
	want := stamp(build)
	got := make([]byte, len(want))
	if _, err := file.ReadAt(got, size-int64(len(want))); err != nil || string(got) != want {
		return errOtherBuild
	}
	return nil
}

func stamp(build string) string { return "\n" + programName + " " + build + "\n" }
