package userdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// mostLinks is how many links a path may lead through (path_resolution(7)).
const mostLinks = 40

// search is a walk along a path, component by component: each is judged on the same descriptor from which the walk goes on.
type search struct {
	at    *os.File
	owner *owner
	todo  []string
	links int
	last  bool // whether the last component is looked at too
}

// find opens the deepest directory of a path that exists, and returns the names that are left of the path: one for a
// file, or those that are missing.
func find(path string, last bool) (*Dir, []string, error) {
	whole, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	s := &search{todo: parts(path), last: last}
	if !filepath.IsAbs(path) {
		s.todo = parts(whole)
	}
	d, err := s.run(path)
	if err != nil {
		if s.at != nil {
			err = errors.Join(err, s.at.Close())
		}
		return nil, nil, err
	}
	return d, s.todo, nil
}

func (s *search) run(path string) (*Dir, error) {
	if err := s.top(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	for len(s.todo) > 0 {
		more, err := s.step()
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: s.owner.explain(err)}
		}
		if !more {
			break
		}
	}
	for _, name := range s.todo {
		if name == ".." {
			return nil, &fs.PathError{Op: "open", Path: path, Err: unix.ENOENT}
		}
	}
	for range s.todo { // they are below the directory
		path = filepath.Dir(path)
	}
	return &Dir{s.at, path, s.owner}, nil
}

// top goes to the root directory.
func (s *search) top() error {
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return s.enter(os.NewFile(uintptr(fd), "/"))
}

func (s *search) enter(next *os.File) (err error) {
	if s.at != nil {
		err = s.at.Close()
	}
	s.at = next
	return err
}

// step takes the next component. It reports false if that is left: it is missing, or is no directory, or is the last.
func (s *search) step() (more bool, err error) {
	name := s.todo[0]
	if len(s.todo) == 1 && !s.last && name != ".." {
		return false, nil
	}
	next, st, err := s.open(name)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if s.owner == nil {
		if s.owner, err = ownerOf(st); err != nil {
			return false, errors.Join(err, next.Close())
		}
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		s.todo = s.todo[1:]
		return true, s.enter(next)
	case unix.S_IFLNK:
		return s.follow(next)
	}
	return false, next.Close()
}

func (s *search) open(name string) (f *os.File, st *unix.Stat_t, err error) {
	st = &unix.Stat_t{}
	err = s.owner.do(func() error {
		fd, err := unix.Openat(int(s.at.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		f = os.NewFile(uintptr(fd), name)
		return unix.Fstat(fd, st)
	})
	if err != nil && f != nil {
		err = errors.Join(err, f.Close())
	}
	return f, st, err
}

// follow replaces a link, which is open, by what it leads to. A link of procfs to a descriptor leads nowhere by its text and is left.
func (s *search) follow(link *os.File) (more bool, err error) {
	defer link.Close()
	if s.links++; s.links > mostLinks {
		return false, unix.ELOOP
	}
	var to string
	err = s.owner.do(func() (err error) {
		to, err = beneath.Readlink(int(link.Fd()), "")
		return err
	})
	if err != nil {
		return false, err
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(s.at.Fd()), &system); err != nil {
		return false, err
	}
	if system.Type == unix.PROC_SUPER_MAGIC && len(s.todo) == 1 {
		return false, nil
	}
	s.todo = append(parts(to), s.todo[1:]...)
	if filepath.IsAbs(to) {
		return true, s.top()
	}
	return true, nil
}

// parts are the components of a path, without those that name the same directory.
func parts(path string) (names []string) {
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

func procPath(f *os.File) string { return beneath.ProcPath(int(f.Fd())) }

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
