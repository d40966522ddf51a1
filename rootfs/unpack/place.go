package unpack

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// place is an open directory of the root.
type place struct {
	name string // as the entry has it
	real string // from the root, free of links
	fd   int    // O_PATH
}

// The most links of one path, as Linux has it (path_resolution(7)), and the most parts that it and the
// targets of those links have in all.
const (
	maxLinks = 40
	maxSteps = 512
)

// parentOf opens the directory of an entry and makes it, with those above, where it is missing: with
// the time of the entry, so that the same layers make the same root. It stays open for the next entry.
func (l *layer) parentOf(dir string, mtime time.Time) (place, error) {
	if l.parent.fd >= 0 && l.parent.name == dir {
		return l.parent, nil
	}
	p, err := l.existing(dir)
	if isMissing(err) {
		p, err = l.makeDirs(dir, mtime)
	}
	if err != nil {
		return place{}, fmt.Errorf("its directory: %w", err)
	}
	if err := l.keepTime(p); err != nil {
		unix.Close(p.fd)
		return place{}, err
	}
	l.forget()
	l.parent = p
	return p, nil
}

// forget closes the last parent. It has to be forgotten whenever something was removed.
func (l *layer) forget() {
	if l.parent.fd >= 0 {
		unix.Close(l.parent.fd)
	}
	l.parent = place{fd: -1}
}

// keepTime remembers the modification time of a directory that is about to change.
func (l *layer) keepTime(p place) error {
	if _, known := l.times[p.real]; known {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(p.fd, "", &st, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("look at its directory: %w", err)
	}
	l.times[p.real] = unix.Timespec(st.Mtim)
	return nil
}

// existing opens a directory, through links as the analysis would see them: an absolute target begins
// at the root, and ".." does not lead out of it.
func (l *layer) existing(name string) (place, error) {
	fd, err := l.open(name)
	if err == nil {
		return place{name, name, fd}, nil
	}
	if err != unix.ELOOP {
		return place{}, err
	}
	real, err := l.resolve(name)
	if err != nil {
		return place{}, err
	}
	fd, err = l.open(real)
	return place{name, real, fd}, err
}

// open opens a directory by a path that is free of links. The kernel holds it below the root.
func (l *layer) open(real string) (int, error) {
	return openBeneath(l.root, real, unix.O_PATH)
}

func openBeneath(dir int, name string, flags uint64) (int, error) {
	if name == "" {
		name = "."
	}
	how := unix.OpenHow{
		Flags: flags | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS |
			unix.RESOLVE_NO_XDEV,
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// resolve returns the path without links that a name stands for. What is missing stands for itself.
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

// readlink returns the target of a link, "" for all else and for what is missing.
func (l *layer) readlink(real, base string) (string, error) {
	fd, err := l.open(real)
	if isMissing(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, base, buf)
	if err == unix.EINVAL || isMissing(err) {
		return "", nil
	}
	return string(buf[:max(n, 0)]), err
}

// makeDirs makes a directory and those above it, and opens it.
func (l *layer) makeDirs(name string, mtime time.Time) (place, error) {
	real, err := l.resolve(name)
	if err != nil {
		return place{}, err
	}
	at, err := l.existing("")
	if err != nil {
		return place{}, err
	}
	for step := range strings.SplitSeq(real, "/") {
		next, err := l.step(at, step, mtime)
		unix.Close(at.fd)
		if err != nil {
			return place{}, err
		}
		at = next
	}
	at.name = name
	return at, nil
}

// step opens a directory of another, and makes it where it is missing.
func (l *layer) step(at place, base string, mtime time.Time) (place, error) {
	real := join(at.real, base)
	fd, err := openBeneath(at.fd, base, unix.O_PATH)
	if err == nil || err != unix.ENOENT {
		return place{real, real, fd}, err
	}
	if err := l.keepTime(at); err != nil {
		return place{}, err
	}
	if err := l.mkdir(at, base); err != nil {
		return place{}, err
	}
	l.times[real] = timespec(mtime)
	fd, err = openBeneath(at.fd, base, unix.O_PATH)
	return place{real, real, fd}, err
}

// restoreTimes gives the directories the times that their entries have, or had in lower layers.
func (l *layer) restoreTimes() error {
	for real, mtime := range l.times {
		fd, err := openBeneath(l.root, real, unix.O_RDONLY)
		if isMissing(err) || err == unix.ELOOP { // removed or replaced later
			continue
		}
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

// setTime is futimens(3): x/sys has it for names alone.
func setTime(fd int, mtime unix.Timespec) error {
	times := [2]unix.Timespec{mtime, mtime}
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set the modification time: %w", errno)
	}
	return nil
}

// isMissing says whether there is no directory or entry of a name.
func isMissing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}
