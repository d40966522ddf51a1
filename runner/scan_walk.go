package runner

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// scan is one walk through a tree, a directory at a time and without recursion. It enters each directory
// by its name from the one above, never through a link or into another mount.
type scan struct {
	pace
	reader  reader
	levels  []level // from the top to the current directory
	mount   uint64  // of the top, by statx(2)
	memory  *memory
	entries int64
	buf     []byte
}

// level is a directory whose subdirectories are being looked at.
type level struct {
	name string
	id   fileID
	fd   int    // -1 while it is closed: it is found again through ".."
	left string // names of subdirectories, each ended by NUL
}

// heldDirs is how many directories are open at a time, whatever the depth.
const heldDirs = 32

// begin looks at the top, which is open.
func (s *scan) begin(fd int, top *unix.Statx_t) (*special, error) {
	if list, known := s.memory.find(top); known {
		s.entries += list.entries
		return nil, s.enter(fd, "", top, list)
	}
	return s.look(fd, "", top)
}

// step looks at the next directory, or goes up where the current one has no more.
func (s *scan) step() (*special, error) {
	l := &s.levels[len(s.levels)-1]
	name, left, more := strings.Cut(l.left, "\x00")
	if !more {
		return nil, s.leave()
	}
	l.left = left
	if err := s.pass(s.entries); err != nil {
		return nil, err
	}
	if known, err := s.recall(l.fd, name); known || err != nil {
		return nil, err
	}
	fd, err := openBeneath(l.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return s.unopened(l.fd, name, err)
	}
	st, err := statAt(fd, "")
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return s.look(fd, name, st)
}

// look reads the open directory, and goes down into it where it has subdirectories.
func (s *scan) look(fd int, name string, st *unix.Statx_t) (*special, error) {
	list, found, err := s.read(fd)
	if err == nil && strings.HasPrefix(name, runPrefix) && lives(fd) {
		err = errLives
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", s.path(name), err), unix.Close(fd))
	}
	if found != nil {
		found.path = s.path(name, found.path)
		return found, unix.Close(fd)
	}
	s.memory.note(st, list)
	return nil, s.enter(fd, name, st, list)
}

// recall passes over a directory that has not changed since it was remembered, and goes down into it
// where it has subdirectories. It leaves everything else to those who open the directory.
func (s *scan) recall(at int, name string) (known bool, err error) {
	if s.memory == nil || strings.HasPrefix(name, runPrefix) {
		return false, nil
	}
	st, err := statAt(at, name)
	if err != nil || st.Mnt_id != s.mount {
		return false, nil //nolint:nilerr // opening it says more
	}
	list, known := s.memory.find(st)
	if known && list.subdirs != "" {
		known, err = s.reenter(at, name, st, list)
	}
	if known {
		s.entries += list.entries
	}
	return known, err
}

// reenter goes down into a directory that is known, if it still is the one.
func (s *scan) reenter(at int, name string, st *unix.Statx_t, list listing) (bool, error) {
	fd, err := openBeneath(at, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, nil //nolint:nilerr // opening it to read says more
	}
	if now, err := statAt(fd, ""); err != nil || identityOf(now) != identityOf(st) || now.Ctime != st.Ctime {
		return false, errors.Join(err, unix.Close(fd))
	}
	return true, s.enter(fd, name, st, list)
}

// enter takes the directory over, or closes it where there is nothing below.
func (s *scan) enter(fd int, name string, st *unix.Statx_t, list listing) error {
	if list.subdirs == "" {
		return unix.Close(fd)
	}
	s.levels = append(s.levels, level{name: name, id: identityOf(st), fd: fd, left: list.subdirs})
	above := len(s.levels) - 1 - heldDirs
	if above < 0 || s.levels[above].fd < 0 {
		return nil
	}
	fd, s.levels[above].fd = s.levels[above].fd, -1
	return unix.Close(fd)
}

// leave goes up. A directory that was closed meanwhile must still be the one above.
func (s *scan) leave() error {
	last := len(s.levels) - 1
	child := s.levels[last]
	s.levels = s.levels[:last]
	defer unix.Close(child.fd)
	if last == 0 || s.levels[last-1].fd >= 0 {
		return nil
	}
	fd, err := unix.Openat(child.fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("go up to %q: %w", s.path(), err)
	}
	s.levels[last-1].fd = fd
	st, err := statAt(fd, "")
	if err == nil && identityOf(st) != s.levels[last-1].id {
		return moved(s.path(child.name))
	}
	return err
}

func moved(path string) error {
	return fmt.Errorf("%q was moved during the check; start again when nothing is moved there", path)
}

// unopened decides about the name of a directory that cannot be opened.
func (s *scan) unopened(at int, name string, err error) (*special, error) {
	var st unix.Stat_t
	statError := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	kind := st.Mode & unix.S_IFMT
	switch {
	case err == unix.ENOENT || statError == unix.ENOENT:
		return nil, nil
	case err == unix.EXDEV:
		return nil, mountedBelow(s.path(name))
	case (err == unix.ENOTDIR || err == unix.ELOOP) && statError == nil && kind != unix.S_IFDIR: // by now
		if isSpecial(kind) {
			return &special{s.path(name), kind}, nil
		}
		return nil, nil
	case err == unix.ENOTDIR || err == unix.ELOOP:
		return nil, moved(s.path(name))
	case err == unix.EACCES:
		return nil, s.closed(at, name)
	}
	return nil, fmt.Errorf("open %q: %w", s.path(name), err)
}

// closed refuses a directory that is closed to the caller, but may be open to the analysis.
func (s *scan) closed(at int, name string) error {
	var st unix.Stat_t
	err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.EACCES { // then it is the directory above that cannot be entered
		err = unix.Fstat(at, &st)
	}
	if err == nil && !s.reader.mayEnter(&st) {
		return nil
	}
	return fmt.Errorf("you cannot look into %q, but the analysis might; let yourself read it, or close it to others (chmod o-x)", s.path(name))
}

// path of the current directory, or of something below it, relative to the top.
func (s *scan) path(below ...string) string {
	var names []string
	for _, l := range s.levels {
		names = append(names, l.name)
	}
	return path.Join(append(names, below...)...)
}

func (s *scan) close() {
	for _, l := range s.levels {
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
	}
}
