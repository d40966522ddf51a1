// Package sources notices that a file has changed that a template has in memory: what is forked from it would then not be what
// starts anew (docs/adr/0038).
package sources

import (
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
	root  *os.File // the template's
	files []file
}

type file struct {
	name  string // below the root
	state state
}

// state changes with a file.
type state struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

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
	for _, path := range append(read, mapped...) {
		if !filepath.IsAbs(path) {
			continue
		}
		name := strings.TrimPrefix(path, "/")
		now, err := s.look(name)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.files = append(s.files, file{name, now})
	}
	return s, nil
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

// look takes no links, which would lead out of the template's root: the paths have none.
func (s *Sources) look(name string) (state, error) {
	if name == "" {
		name = "."
	}
	var st unix.Stat_t
	err := unix.Fstatat(int(s.root.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return state{}, fmt.Errorf("%s, which the template has read: %w", name, err)
	}
	return state{st.Dev, st.Ino, st.Size, st.Mtim, st.Ctim}, nil
}

// Same returns an error where a file has changed since.
func (s *Sources) Same() error {
	for _, f := range s.files {
		now, err := s.look(f.name)
		if err != nil {
			return err
		}
		if now != f.state {
			return fmt.Errorf("/%s has changed since the template read it", f.name)
		}
	}
	return nil
}

// Close ends the watch; s may be nil.
func (s *Sources) Close() {
	if s != nil {
		s.root.Close()
	}
}
