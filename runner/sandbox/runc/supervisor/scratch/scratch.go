// Package scratch lists the files that an analysis left in directories that end with its container, so that a result can
// say that they are lost.
package scratch

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// The bounds of a listing, which is a hint and not a harvest.
const (
	maxNames   = 50
	maxEntries = 1000
	maxDepth   = 3
)

// Dirs are open directories of a container. They stay readable when it has ended, and what is in them stays in memory until
// they are closed.
type Dirs struct {
	files []*os.File // named as inside
}

// Open opens directories of the container that process pid is in; one that cannot be opened is left out.
func Open(pid int, paths []string) *Dirs {
	d := &Dirs{}
	for _, name := range paths {
		if fd, err := openDir(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/root"+name); err == nil {
			d.files = append(d.files, os.NewFile(uintptr(fd), name))
		}
	}
	return d
}

func openDir(at int, name string) (int, error) {
	return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
}

// Names returns the paths inside of regular files that are not empty, escaped: the first ones that are found. Hidden names
// are left out, which are settings and caches.
func (d *Dirs) Names() []string {
	l := &listing{left: maxEntries}
	for _, f := range d.files {
		l.read(f, maxDepth)
	}
	return l.names
}

// Close closes the directories; nil and closed ones are closed.
func (d *Dirs) Close() {
	if d == nil {
		return
	}
	for _, f := range d.files {
		_ = f.Close()
	}
	d.files = nil
}

type listing struct {
	names []string
	left  int // entries that may still be looked at
}

// read adds what is in a directory, which a hostile analysis may have filled.
func (l *listing) read(dir *os.File, depth int) {
	for l.left > 0 && len(l.names) < maxNames {
		names, err := dir.Readdirnames(min(l.left, 100))
		l.left -= len(names)
		for _, name := range names {
			l.add(dir, name, depth)
		}
		if err != nil || len(names) == 0 {
			return
		}
	}
}

func (l *listing) add(dir *os.File, name string, depth int) {
	var st unix.Stat_t
	if strings.HasPrefix(name, ".") || unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		if st.Size > 0 && len(l.names) < maxNames {
			l.names = append(l.names, outputs.Escape([]byte(path.Join(dir.Name(), name))))
		}
	case unix.S_IFDIR:
		l.descend(dir, name, depth-1)
	}
}

func (l *listing) descend(dir *os.File, name string, depth int) {
	if depth == 0 {
		return
	}
	fd, err := openDir(int(dir.Fd()), name)
	if err != nil {
		return
	}
	below := os.NewFile(uintptr(fd), path.Join(dir.Name(), name))
	defer below.Close()
	if !sameDevice(dir, below) {
		return // an input that is bound there
	}
	l.read(below, depth)
}

func sameDevice(a, b *os.File) bool {
	var x, y unix.Stat_t
	return unix.Fstat(int(a.Fd()), &x) == nil && unix.Fstat(int(b.Fd()), &y) == nil && x.Dev == y.Dev
}
