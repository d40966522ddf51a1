package unpack

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// directory is an open directory in the root.
type directory struct {
	name string // as in the entry
	real string // from the root, without links
	fd   int    // O_PATH
}

// The most links in a path, as in Linux (path_resolution(7)), and the most components of it and those links' targets
// together.
const (
	maxLinks = 40
	maxSteps = 512
)

// parentOf opens an entry's directory and makes missing ones, with the entry's time, so that the same layers make the
// same root. It stays open for the next entry.
func (l *layer) parentOf(dir string, mtime time.Time) (directory, error) {
	if l.parent.fd >= 0 && l.parent.name == dir && !l.stale {
		return l.parent, nil
	}
	p, err := l.existing(dir)
	if isMissing(err) {
		p, err = l.makeDirs(dir, mtime)
	}
	if err != nil {
		return directory{}, fmt.Errorf("its directory: %w", err)
	}
	// Through links the entry may be deeper than its name.
	if err := errors.Join(l.bounds.depth(join(p.real, "entry")), l.keepTime(p)); err != nil {
		unix.Close(p.fd)
		return directory{}, err
	}
	l.forget()
	l.parent, l.stale = p, false
	return p, nil
}

// forget closes the last parent.
func (l *layer) forget() {
	if l.parent.fd >= 0 {
		unix.Close(l.parent.fd)
	}
	l.parent.fd = -1
}

// keepTime saves a directory's modification time before a change.
func (l *layer) keepTime(p directory) error {
	if _, known := l.times[p.real]; known {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(p.fd, "", &st, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("look at its directory: %w", err)
	}
	l.names += int64(len(p.real))
	l.times[p.real] = unix.Timespec(st.Mtim)
	return nil
}

// existing opens a directory, with links resolved as in the analysis: an absolute target starts at the root, and ".."
// does not leave it.
func (l *layer) existing(name string) (directory, error) {
	fd, err := l.open(name)
	if err == nil {
		return directory{name, name, fd}, nil
	}
	if !errors.Is(err, unix.ELOOP) {
		return directory{}, err
	}
	real, err := l.resolve(name)
	if err != nil {
		return directory{}, err
	}
	fd, err = l.open(real)
	return directory{name, real, fd}, err
}

// open opens a directory by a path without links. The kernel confines it to the root.
func (l *layer) open(real string) (int, error) {
	return beneath.Open(l.root, real, unix.O_PATH|unix.O_DIRECTORY)
}

// resolve returns a name's path without links. Missing components resolve to themselves.
func (l *layer) resolve(name string) (string, error) {
	real, links := "", 0
	left := strings.Split(name, "/")
	for steps := 0; len(left) > 0; steps++ {
		if steps > maxSteps || links > maxLinks {
			return "", unix.ELOOP
		}
		step := left[0]
		left = left[1:]
		switch step {
		case "", ".":
			continue
		case "..":
			real, _ = cut(real)
			continue
		}
		target, err := l.readlink(real, step)
		if err != nil {
			return "", err
		}
		if target == "" {
			real = join(real, step)
			continue
		}
		links++
		if target[0] == '/' {
			real = ""
		}
		left = append(strings.Split(target, "/"), left...)
	}
	return l.bounds.clean(real)
}

// readlink returns a link's target, "" for other or missing files.
func (l *layer) readlink(real, base string) (string, error) {
	fd, err := l.open(real)
	if isMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	target, err := beneath.Readlink(fd, base)
	if errors.Is(err, unix.EINVAL) || isMissing(err) {
		return "", nil
	}
	return target, err
}

// makeDirs makes a directory and its parents, and opens it.
func (l *layer) makeDirs(name string, mtime time.Time) (directory, error) {
	real, err := l.resolve(name)
	if err != nil {
		return directory{}, err
	}
	at, err := l.existing("")
	if err != nil {
		return directory{}, err
	}
	for step := range strings.SplitSeq(real, "/") {
		next, err := l.step(at, step, mtime)
		unix.Close(at.fd)
		if err != nil {
			return directory{}, err
		}
		at = next
	}
	at.name = name
	return at, nil
}

// step opens a subdirectory, and makes it if missing.
func (l *layer) step(at directory, base string, mtime time.Time) (directory, error) {
	real := join(at.real, base)
	fd, err := beneath.Open(at.fd, base, unix.O_PATH|unix.O_DIRECTORY)
	if !errors.Is(err, unix.ENOENT) {
		return directory{real, real, fd}, err
	}
	if err := l.keepTime(at); err != nil {
		return directory{}, err
	}
	made, err := l.mkdir(at, base)
	if err != nil {
		return directory{}, err
	}
	if made {
		l.times[real] = timespec(mtime)
	}
	fd, err = beneath.Open(at.fd, base, unix.O_PATH|unix.O_DIRECTORY)
	return directory{real, real, fd}, err
}

// restoreTimes sets the directories' times from their entries, or from lower layers, except of those that were removed.
func (l *layer) restoreTimes() error {
	for real, mtime := range l.times {
		fd, err := beneath.Open(l.root, real, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return fmt.Errorf("layer entry %q: %w", real, err)
		}
		err = setTime(fd, mtime)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("layer entry %q: %w", real, err)
		}
	}
	return nil
}

// setTime is futimens(3), which x/sys has only by name.
func setTime(fd int, mtime unix.Timespec) error {
	times := [2]unix.Timespec{mtime, mtime}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set the modification time: %w", errno)
	}
	return nil
}

// kind is the type of an entry (S_IFMT).
func (p directory) kind(base string) (uint32, error) {
	var st unix.Stat_t
	err := unix.Fstatat(p.fd, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	return st.Mode & unix.S_IFMT, err
}

// absent proves that a directory that could not be opened is missing in the root, or that a file has its name. A
// failing file system also reports ENOENT, and then an entry that an upper layer hides would stay.
func (l *layer) absent(name string) error {
	real, err := l.resolve(name)
	if err != nil {
		return err
	}
	at, err := l.existing("")
	if err != nil {
		return err
	}
	defer func() { unix.Close(at.fd) }()
	for step := range strings.SplitSeq(real, "/") {
		kind, err := at.kind(step)
		switch {
		case errors.Is(err, unix.ENOENT):
			return l.free(at, step)
		case err != nil:
			return fmt.Errorf("look at %q: %w", join(at.real, step), err)
		case kind == unix.S_IFREG:
			return nil
		}
		fd, err := beneath.Open(at.fd, step, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return fmt.Errorf("open %q: %w", join(at.real, step), err)
		}
		unix.Close(at.fd)
		at.real, at.fd = join(at.real, step), fd
	}
	return fmt.Errorf("directory %q is there, and could not be opened: the file system fails", name)
}

// free proves that a directory has no entry of a name, by making one: ENOENT is no proof.
func (l *layer) free(p directory, base string) error {
	if err := l.keepTime(p); err != nil {
		return err
	}
	err := unix.Mkdirat(p.fd, base, dirMode)
	if err == nil {
		err = unix.Unlinkat(p.fd, base, unix.AT_REMOVEDIR)
	}
	if err != nil {
		return fmt.Errorf("whether there is %q: %w", join(p.real, base), err)
	}
	return nil
}

// isMissing reports a missing directory or entry.
func isMissing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}
