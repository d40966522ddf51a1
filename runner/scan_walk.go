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
	name  string
	id    fileID
	fd    int    // -1 while it is closed: it is found again through ".."
	left  string // names of subdirectories, each ended by NUL
	known bool   // they are remembered and were not read
}

// heldDirs is how many directories are open at a time, whatever the depth.
const heldDirs = 32

// run looks through the tree below an open directory.
func (s *scan) run(top int) (found *special, err error) {
	defer s.close()
	fd, err := openBeneath(top, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	st, err := statAt(fd, "")
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	s.mount, s.entries = st.Mnt_id, 0
	if list, known := s.memory.find(st); known {
		s.entries = list.entries
		err = s.enter(fd, "", st, list, known)
	} else {
		found, err = s.look(fd, "", st)
	}
	for err == nil && found == nil && len(s.levels) > 0 {
		found, err = s.step()
	}
	return found, err
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
	return nil, s.enter(fd, name, st, list, false)
}

// enter takes the directory over, or closes it where there is nothing below.
func (s *scan) enter(fd int, name string, st *unix.Statx_t, list listing, known bool) error {
	if list.subdirs == "" {
		return unix.Close(fd)
	}
	s.levels = append(s.levels, level{name: name, id: identityOf(st), fd: fd, left: list.subdirs, known: known})
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
	s.levels = nil
}
