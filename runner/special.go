package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// special is an entry that a process could use to reach out of a directory it can only read.
type special struct {
	path string // relative to the directory
	kind uint32 // S_IFMT bits
}

// findSpecial looks for a socket, FIFO or device below dir and returns the first, or nil. Directories
// that the caller cannot read are passed over: neither can the analysis. Symbolic links are not
// followed: what they lead to is not in the container.
func findSpecial(dir *os.File) (*special, error) {
	for pending := []string{"."}; len(pending) > 0; {
		name := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		subdirs, found, err := scanDir(dir, name)
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil || found != nil {
			return found, err
		}
		pending = append(pending, subdirs...)
	}
	return nil, nil
}

func scanDir(root *os.File, name string) (subdirs []string, found *special, err error) {
	fd, err := unix.Openat2(int(root.Fd()), name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	// Named so that os can lstat entries whose type the file system does not tell.
	dir := os.NewFile(uintptr(fd), fmt.Sprintf("/proc/self/fd/%d", fd))
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(1024)
		for _, e := range entries {
			below := path.Join(name, e.Name())
			switch {
			case e.IsDir():
				subdirs = append(subdirs, below)
			case e.Type()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0:
				return nil, &special{below, kindOf(e.Type())}, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return subdirs, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %q: %w", name, err)
		}
	}
}

func kindOf(mode fs.FileMode) uint32 {
	switch {
	case mode&fs.ModeSocket != 0:
		return unix.S_IFSOCK
	case mode&fs.ModeNamedPipe != 0:
		return unix.S_IFIFO
	default:
		return unix.S_IFCHR
	}
}
