// Package sources notices that a file has changed that a template has in memory: what is forked from it would then not be what
// starts anew (docs/adr/0038).
package sources

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MaxNote bounds the list of files that a template says it has read, in bytes.
const MaxNote = 4 << 20

// Sources are files and directories as they were when the template had read them.
type Sources struct {
	root *os.File // the template's
	dirs []directory
}

// directory has the files of one directory: a name in it is found faster than a path.
type directory struct {
	name  string // below the root
	place state  // its device and inode alone, unless it is compared itself
	files []file
}

type file struct {
	name  string
	state state
}

// state changes with a file.
type state struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

// itself is the name of a directory in it.
const itself = "."

// Note notes the state of the files that a template says it has read, by their paths, and of those that it has mapped.
func Note(pid int, read []string) (_ *Sources, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	mapped, err := mappedFiles(proc)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(proc+"/root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open the template's root: %w", err)
	}
	s := &Sources{root: os.NewFile(uintptr(fd), "root")}
	names := map[string][]string{} // by directory
	for _, path := range append(read, mapped...) {
		if filepath.IsAbs(path) {
			dir, name := s.split(path)
			names[dir] = append(names[dir], name)
		}
	}
	for dir, names := range names {
		if err := s.note(dir, names); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// split separates a path into its directory, below the root, and the name there; a directory is in itself.
func (s *Sources) split(path string) (dir, name string) {
	path = strings.TrimPrefix(filepath.Clean(path), "/")
	if path == "" {
		path = itself
	}
	var st unix.Stat_t
	if unix.Fstatat(int(s.root.Fd()), path, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return path, itself
	}
	return filepath.Dir(path), filepath.Base(path)
}

func (s *Sources) note(name string, files []string) error {
	d := directory{name: name}
	err := s.within(name, func(dir int) error {
		at, err := look(dir, name, itself)
		d.place = state{dev: at.dev, ino: at.ino}
		for _, name := range files {
			now, failed := look(dir, d.name, name)
			d.files, err = append(d.files, file{name, now}), errors.Join(err, failed)
		}
		return err
	})
	s.dirs = append(s.dirs, d)
	return err
}

// within opens a directory. It takes no links, which would lead out of the template's root: the paths have none.
func (s *Sources) within(name string, do func(dir int) error) error {
	dir, err := unix.Openat(int(s.root.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/%s, of which the template has read files: %w", name, err)
	}
	defer unix.Close(dir)
	return do(dir)
}

// mappedFiles are the paths in proc_pid_maps(5).
func mappedFiles(proc string) ([]string, error) {
	raw, err := os.ReadFile(proc + "/maps")
	if err != nil {
		return nil, err
	}
	seen, files := map[string]bool{}, []string(nil)
	for line := range strings.Lines(string(raw)) {
		_, path, found := strings.Cut(strings.TrimSuffix(line, "\n"), " /")
		if found && !seen[path] {
			seen[path] = true
			files = append(files, "/"+path)
		}
	}
	return files, nil
}

// look reads the state of a name in a directory.
func look(dir int, where, name string) (state, error) {
	var st unix.Stat_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if name == itself {
		name, flags = "", unix.AT_EMPTY_PATH
	}
	if err := unix.Fstatat(dir, name, &st, flags); err != nil {
		return state{}, fmt.Errorf("/%s, which the template has read: %w", filepath.Join(where, name), err)
	}
	return state{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}, nil
}

// Same returns an error where a file has changed since.
func (s *Sources) Same() error {
	for _, d := range s.dirs {
		if err := s.within(d.name, d.same); err != nil {
			return err
		}
	}
	return nil
}

func (d directory) same(dir int) error {
	at, err := look(dir, d.name, itself)
	if err == nil && (state{dev: at.dev, ino: at.ino}) != d.place {
		err = fmt.Errorf("/%s is another directory than the template read files of", d.name)
	}
	for _, f := range d.files {
		if err != nil {
			return err
		}
		var now state
		if now, err = look(dir, d.name, f.name); err == nil && now != f.state {
			err = fmt.Errorf("/%s has changed since the template read it", filepath.Join(d.name, f.name))
		}
	}
	return err
}

// Close ends the watch; s may be nil.
func (s *Sources) Close() {
	if s != nil {
		s.root.Close()
	}
}
