package seal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
)

// maxDepth bounds the open directories.
const maxDepth = 256

// inFlight is how many entries the walk may be ahead of the readers, and the readers of the list.
const inFlight = 64

// walk walks a root in list order. It enters each directory by name from its parent, never through a link or into another
// mount. Files are read on all cores.
type walk struct {
	root  *os.File
	top   unix.Stat_t
	sums  Sums
	links map[uint64]*pending // files with several names are read once

	order chan *pending // all entries
	reads chan *pending // files to be read
}

// pending is an entry whose digest may be missing.
type pending struct {
	entry
	file  *os.File // to be read
	same  *pending // another name of the same file
	ready chan struct{}
}

func newWalk(root *os.File, sums Sums) (*walk, error) {
	w := &walk{
		root: root, sums: sums, links: map[uint64]*pending{},
		order: make(chan *pending, inFlight), reads: make(chan *pending, inFlight),
	}
	if err := unix.Fstat(int(root.Fd()), &w.top); err != nil {
		return nil, err
	}
	if w.top.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, errors.New("it is no directory")
	}
	return w, nil
}

// run calls visit for each entry in order.
func (w *walk) run(ctx context.Context, visit func(*entry) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(w.order)
		defer close(w.reads)
		return w.all(ctx)
	})
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error { return readFiles(ctx, w.reads) })
	}
	g.Go(func() error {
		for p := range w.order {
			if err := p.wait(ctx); err != nil {
				return err
			}
			if err := visit(&p.entry); err != nil {
				return err
			}
		}
		return nil
	})
	err := g.Wait()
	for p := range w.reads { // unread files
		p.file.Close()
	}
	return err
}

func (p *pending) wait(ctx context.Context) error {
	if p.ready == nil {
		return nil
	}
	select {
	case <-p.ready:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.same != nil {
		p.sum = p.same.sum
	}
	return nil
}

func (w *walk) all(ctx context.Context) error {
	if err := send(ctx, w.order, &pending{entry: entry{st: w.top}}); err != nil {
		return err
	}
	fd, err := beneath.Reopen(int(w.root.Fd()))
	if err != nil {
		return err
	}
	return w.directory(ctx, os.NewFile(uintptr(fd), "."), "", 0)
}

// directory lists an open directory and closes it. A directory's line precedes those of all names that start with its
// name, its contents follow those whose next byte is below "/".
func (w *walk) directory(ctx context.Context, dir *os.File, path string, depth int) error {
	defer dir.Close()
	if depth > maxDepth {
		return fmt.Errorf("%q: more than %d directories deep", path, maxDepth)
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return fmt.Errorf("read directory: %w", err)
	}
	for _, name := range names(entries) {
		if name, contents := strings.CutSuffix(name, "/"); contents {
			err = w.descend(ctx, dir, join(path, name), name, depth)
		} else {
			err = w.entry(ctx, int(dir.Fd()), join(path, name), name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// names sorts the names, each directory's also with "/", for its contents.
func names(entries []fs.DirEntry) []string {
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
		if e.IsDir() {
			names = append(names, e.Name()+"/")
		}
	}
	slices.Sort(names)
	return names
}

func (w *walk) descend(ctx context.Context, dir *os.File, path, name string, depth int) error {
	fd, err := beneath.Open(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("open directory %q: %w", path, w.proven(int(dir.Fd()), name, err))
	}
	return w.directory(ctx, os.NewFile(uintptr(fd), path), path, depth+1)
}

func (w *walk) entry(ctx context.Context, dir int, path, name string) error {
	p := &pending{entry: entry{path: path}}
	err := unix.Fstatat(dir, name, &p.st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EACCES) {
		err = closed(dir, err)
	}
	if err == nil {
		err = w.content(ctx, p, dir, name)
	}
	if err == nil && p.st.Uid != w.top.Uid {
		err = fmt.Errorf("%w: it belongs to the user %d, the root to %d", errUnfit, p.st.Uid, w.top.Uid)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return send(ctx, w.order, p)
}

func (w *walk) content(ctx context.Context, p *pending, dir int, name string) (err error) {
	switch p.st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return nil
	case unix.S_IFLNK:
		if p.target, err = beneath.Readlink(dir, name); err != nil {
			err = fmt.Errorf("read link: %w", err)
		}
		return err
	case unix.S_IFREG:
		return w.file(ctx, p, dir, name)
	}
	return fmt.Errorf("%w: it is no file, directory or link", errUnfit)
}

func (w *walk) file(ctx context.Context, p *pending, dir int, name string) error {
	if w.sums != nil {
		if sum, known := w.sums.Of(p.st.Ino); known {
			p.sum = sum
			return nil
		}
	}
	if first := w.links[p.st.Ino]; first != nil {
		p.same, p.ready = first, first.ready
		return nil
	}
	fd, err := beneath.Open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return fmt.Errorf("open: %w", w.proven(dir, name, err))
	}
	p.file, p.ready = os.NewFile(uintptr(fd), p.path), make(chan struct{})
	if p.st.Nlink > 1 {
		w.links[p.st.Ino] = p
	}
	if err := send(ctx, w.reads, p); err != nil {
		p.file.Close()
		return err
	}
	return nil
}

// closed makes errUnfit of EACCES below a directory, if its mode shows the cause.
func closed(dir int, err error) error {
	var st unix.Stat_t
	if unix.Fstat(dir, &st) == nil && st.Mode&unix.S_IXUSR == 0 {
		return fmt.Errorf("%w: its directory has the mode %04o", errUnfit, st.Mode&0o7777)
	}
	return err
}

// proven makes errUnfit of the error of an open, if the entry itself shows the cause: its mode, or a mount. Every other error is one of
// the file system, and says nothing about the root.
func (w *walk) proven(dir int, name string, err error) error {
	var st, top unix.Statx_t
	const mask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID
	if unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, mask, &st) != nil ||
		unix.Statx(int(w.root.Fd()), "", unix.AT_EMPTY_PATH, mask, &top) != nil {
		return err
	}
	right := uint16(0o400)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		right = 0o500
	}
	switch {
	case errors.Is(err, unix.EACCES) && st.Mode&right != right:
		return fmt.Errorf("%w: it has the mode %04o", errUnfit, st.Mode&0o7777)
	case errors.Is(err, unix.EXDEV) && st.Mnt_id != top.Mnt_id:
		return fmt.Errorf("%w: something is mounted on it", errUnfit)
	}
	return err
}

func send(ctx context.Context, to chan<- *pending, p *pending) error {
	select {
	case to <- p:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readFiles computes files' digests.
func readFiles(ctx context.Context, files <-chan *pending) error {
	buf := make([]byte, 256<<10)
	h := sha256.New()
	for p := range files {
		h.Reset()
		err := p.read(ctx, h, buf)
		p.file.Close()
		if err != nil {
			return fmt.Errorf("%q: %w", p.path, err)
		}
		h.Sum(p.sum[:0])
		close(p.ready)
	}
	return nil
}

// read reads a file that must not have changed since the walk saw it.
func (p *pending) read(ctx context.Context, to hash.Hash, buf []byte) error {
	if _, err := io.CopyBuffer(to, bounded.Until(ctx, p.file), buf); err != nil {
		return err
	}
	var now unix.Stat_t
	if err := unix.Fstat(int(p.file.Fd()), &now); err != nil {
		return err
	}
	if stampOf(&now) != stampOf(&p.st) {
		return fmt.Errorf("%w while it was read", ErrChanged)
	}
	return nil
}

func join(dir, base string) string {
	if dir == "" {
		return base
	}
	return dir + "/" + base
}
