package outputs

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

const (
	// heldDirs is how many directories above the current one stay open. The others are found again
	// through "..", so that a tree of any depth needs few descriptors.
	heldDirs = 16
	// direntBytes is how much of a directory is read at a time: memory does not depend on its size.
	direntBytes = 32 << 10
)

// walk is a cursor over a directory tree. It goes one component at a time, holds at most heldDirs+2
// descriptors and never follows anything out of the tree. Its methods return bare errnos: only the caller knows whether
// somebody may change the tree.
type walk struct {
	levels []level // from the root to the current directory, never empty
	path   []byte  // of the current directory, relative to the root
	buf    []byte
}

// level is one directory between the root and the current one.
type level struct {
	dir   *node
	id    fileID
	fd    int      // -1 while closed
	pos   int64    // where reading goes on, while closed
	names []string // read and not yet returned
	eof   bool
	path  int // length of the path up to and without this directory
}

// node is a directory in the tree. Children refer to it, so that a remembered name costs its own length and not that of its
// path. The root is nil.
type node struct {
	up   *node
	name string
}

// child returns the path of name in the directory n.
func (n *node) child(name string) []byte {
	size := len(name)
	for up := n; up != nil; up = up.up {
		size += len(up.name) + 1
	}
	path := make([]byte, size)
	end := size - len(name)
	copy(path[end:], name)
	for up := n; up != nil; up = up.up {
		end--
		path[end] = '/'
		end -= len(up.name)
		copy(path[end:], up.name)
	}
	return path
}

// lostError says that a directory was moved away while the walk was below it: its unread entries cannot be reached. The walk
// goes on above it.
type lostError struct{ path []byte }

func (e *lostError) Error() string {
	return "directory " + strconv.Quote(string(e.path)) + " was moved during the walk"
}

func newWalk(root *os.File) (*walk, error) {
	fd, err := beneath.Reopen(int(root.Fd()))
	runtime.KeepAlive(root)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &walk{
		levels: []level{{fd: fd, id: identity(&st)}},
		buf:    make([]byte, direntBytes),
	}, nil
}

func (w *walk) close() {
	for i := range w.levels {
		w.levels[i].close()
	}
}

func (l *level) close() {
	if l.fd >= 0 {
		unix.Close(l.fd)
		l.fd = -1
	}
}

func (w *walk) top() *level { return &w.levels[len(w.levels)-1] }

// fd is the descriptor of the current directory, valid until the walk moves.
func (w *walk) fd() int { return w.top().fd }

// depth is the number of directories between the root and the current one, 0 in the root.
func (w *walk) depth() int { return len(w.levels) - 1 }

// join returns the path of name in the current directory.
func (w *walk) join(name string) []byte {
	path := make([]byte, 0, len(w.path)+1+len(name))
	path = append(path, w.path...)
	if len(path) > 0 {
		path = append(path, '/')
	}
	return append(path, name...)
}

// next returns the next name of the current directory, in the order of the directory, or false at its
// end.
func (w *walk) next() (string, bool, error) {
	l := w.top()
	for len(l.names) == 0 {
		if l.eof {
			return "", false, nil
		}
		if err := w.fill(l); err != nil {
			l.eof = true
			return "", false, err
		}
	}
	name := l.names[0]
	l.names = l.names[1:]
	return name, true, nil
}

func (w *walk) fill(l *level) error {
	n, err := unix.ReadDirent(l.fd, w.buf)
	for err == unix.EINTR {
		n, err = unix.ReadDirent(l.fd, w.buf)
	}
	if err != nil {
		return err
	}
	l.eof = n == 0
	_, _, l.names = unix.ParseDirent(w.buf[:n], -1, nil)
	return nil
}

// rewind reads the current directory from its start again.
func (w *walk) rewind() error {
	l := w.top()
	l.names, l.eof = nil, false
	_, err := unix.Seek(l.fd, 0, unix.SEEK_SET)
	return err
}

// enter goes down into the directory that st describes.
func (w *walk) enter(name string, st *unix.Stat_t) error {
	fd, err := openSame(w.fd(), name, st, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	if err := w.evict(); err != nil {
		unix.Close(fd)
		return err
	}
	l := level{dir: &node{w.top().dir, name}, id: identity(st), fd: fd, path: len(w.path)}
	if len(w.path) > 0 {
		w.path = append(w.path, '/') // in place: copying it at every level would be quadratic in the depth
	}
	w.path = append(w.path, name...)
	w.levels = append(w.levels, l)
	return nil
}

// evict closes the highest of the open directories if there are heldDirs of them; never the root,
// from which everything can be found again.
func (w *walk) evict() error {
	i := len(w.levels) - heldDirs
	if i < 1 || w.levels[i].fd < 0 {
		return nil
	}
	pos, err := unix.Seek(w.levels[i].fd, 0, unix.SEEK_CUR)
	if err != nil {
		return err
	}
	w.levels[i].pos = pos
	w.levels[i].close()
	return nil
}

// leave goes up to the parent. A lostError means that it went further up, because the parent is no
// longer where it was.
func (w *walk) leave() error {
	child := w.fd()
	defer unix.Close(child)
	w.top().fd = -1
	w.drop(len(w.levels) - 1)
	if w.fd() >= 0 {
		return nil
	}
	fd, err := unix.Openat(child, "..", unix.O_RDONLY|unix.O_DIRECTORY|quiet, 0)
	if err == nil {
		err = w.resume(fd)
	}
	if err != nil { // it may be found from above
		return w.descend()
	}
	return nil
}

// leaveTo goes up to the given depth.
func (w *walk) leaveTo(depth int) error {
	if depth >= w.depth() {
		return nil
	}
	w.drop(depth + 1)
	if w.fd() >= 0 {
		return nil
	}
	return w.descend()
}

// drop forgets all but the first n levels.
func (w *walk) drop(n int) {
	for i := n; i < len(w.levels); i++ {
		w.levels[i].close()
	}
	w.path = w.path[:w.levels[n].path]
	clear(w.levels[n:])
	w.levels = w.levels[:n]
}

// resume takes fd for the current directory if it is that directory, and closes it if it is not.
func (w *walk) resume(fd int) error {
	l := w.top()
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && identity(&st) != l.id {
		err = errExchanged
	}
	if err == nil {
		_, err = unix.Seek(fd, l.pos, unix.SEEK_SET)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	l.fd = fd
	return nil
}

// descend opens the current directory again from the deepest one that is open. If a component on the
// way is no longer the same directory, the walk stays above it and says so.
func (w *walk) descend() error {
	from := len(w.levels) - 1
	for w.levels[from].fd < 0 {
		from--
	}
	at := w.levels[from].fd
	for i := from + 1; i < len(w.levels); i++ {
		st := unix.Stat_t{Dev: w.levels[i].id.dev, Ino: w.levels[i].id.ino, Mode: unix.S_IFDIR}
		fd, err := openSame(at, w.levels[i].dir.name, &st, unix.O_RDONLY|unix.O_DIRECTORY)
		if at != w.levels[from].fd {
			unix.Close(at)
		}
		if err != nil {
			return w.lose(i, err)
		}
		at = fd
	}
	if err := w.resume(at); err != nil {
		return w.lose(len(w.levels)-1, err)
	}
	return nil
}

// lose gives up the i-th level and all below it if that was moved.
func (w *walk) lose(i int, err error) error {
	if !moved(err) {
		return err
	}
	d := w.levels[i].dir
	lost := &lostError{d.up.child(d.name)}
	w.drop(i)
	if w.fd() >= 0 {
		return lost
	}
	if err := w.descend(); err != nil {
		return err // the one further up
	}
	return lost
}
