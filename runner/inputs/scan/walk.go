package scan

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// walk walks a tree once, a directory at a time and without recursion. It enters each directory by its name from the one
// above, never through a link or into another mount.
type walk struct {
	progress
	reader  Reader
	levels  []level // from the top to the current directory
	mount   uint64  // of the top, by statx(2)
	memory  *memory
	entries int64
	buf     []byte
}

// level is a directory whose subdirectories are being scanned.
type level struct {
	name  string
	id    inode.ID
	fd    int    // -1 while it is closed: it is found again through ".."
	left  string // names of subdirectories, each ended by NUL
	known bool   // they come from the cache
}

// heldDirs is how many directories are open at a time, whatever the depth.
const heldDirs = 32

// run scans the tree below an open directory.
func (w *walk) run(top int) (found *Special, err error) {
	defer w.close()
	fd, err := beneath.Reopen(top)
	if err != nil {
		return nil, err
	}
	st, err := inode.Stat(fd, "")
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	w.mount, w.entries = st.Mnt_id, 0
	if list, known := w.memory.find(st); known {
		w.entries = list.entries
		err = w.enter(fd, "", st, list, known)
	} else {
		found, err = w.look(fd, "", st)
	}
	for err == nil && found == nil && len(w.levels) > 0 {
		found, err = w.step()
	}
	return found, err
}

// step scans the next directory, or goes up if the current one has no more.
func (w *walk) step() (*Special, error) {
	l := &w.levels[len(w.levels)-1]
	name, left, more := strings.Cut(l.left, "\x00")
	if !more {
		return nil, w.leave()
	}
	l.left = left
	if err := w.proceed(w.entries); err != nil {
		return nil, err
	}
	if known, err := w.recall(l.fd, name); known || err != nil {
		return nil, err
	}
	fd, err := beneath.Open(l.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return w.unopened(l.fd, name, err)
	}
	st, err := inode.Stat(fd, "")
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return w.look(fd, name, st)
}

// look reads the open directory, and descends into it if it has subdirectories.
func (w *walk) look(fd int, name string, st *unix.Statx_t) (*Special, error) {
	list, found, err := w.read(fd)
	if err == nil && strings.HasPrefix(name, lockdir.RunPrefix) && lockdir.RunLocked(fd) {
		err = lockdir.ErrLocked
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%q: %w", w.path(name), err), unix.Close(fd))
	}
	if found != nil {
		found.Path = w.path(name, found.Path)
		return found, unix.Close(fd)
	}
	w.memory.note(st, list)
	return nil, w.enter(fd, name, st, list, false)
}

// enter takes the directory over, or closes it if there is nothing below.
func (w *walk) enter(fd int, name string, st *unix.Statx_t, list listing, known bool) error {
	if list.subdirs == "" {
		return unix.Close(fd)
	}
	w.levels = append(w.levels, level{name: name, id: inode.Of(st), fd: fd, left: list.subdirs, known: known})
	above := len(w.levels) - 1 - heldDirs
	if above < 0 || w.levels[above].fd < 0 {
		return nil
	}
	fd, w.levels[above].fd = w.levels[above].fd, -1
	return unix.Close(fd)
}

// leave goes up. If the directory above was closed to save descriptors, it is opened again and must be the same.
func (w *walk) leave() error {
	last := len(w.levels) - 1
	child := w.levels[last]
	w.levels = w.levels[:last]
	defer unix.Close(child.fd)
	if last == 0 || w.levels[last-1].fd >= 0 {
		return nil
	}
	fd, err := unix.Openat(child.fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("go up to %q: %w", w.path(), err)
	}
	w.levels[last-1].fd = fd
	st, err := inode.Stat(fd, "")
	if err == nil && inode.Of(st) != w.levels[last-1].id {
		return moved(w.path(child.name))
	}
	return err
}

// path of the current directory, or of something below it, relative to the top.
func (w *walk) path(below ...string) string {
	var names []string
	for _, l := range w.levels {
		names = append(names, l.name)
	}
	return path.Join(append(names, below...)...)
}

func (w *walk) close() {
	for _, l := range w.levels {
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
	}
	w.levels = nil
}
