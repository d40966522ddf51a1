package seal

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// chunk is the number of stamps that a worker takes at a time.
const chunk = 512

// Check compares every entry of root only by lstat(2), on all cores, and returns ErrChanged for a difference from the
// list. Added and removed entries show as a change of their directory.
func (r *Record) Check(ctx context.Context, root *os.File) error {
	stamps, err := r.stamps()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(root)
	c := &check{root: int(root.Fd())}
	if err := c.split(stamps); err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(c.root, &st); err != nil {
		return fmt.Errorf("check %s: %w", root.Name(), err)
	}
	c.dev = st.Dev
	g, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), len(c.chunks)) {
		g.Go(func() error { return c.work(ctx) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("check %s: %w", root.Name(), err)
	}
	return nil
}

// stamps reads the stamps of a record.
func (r *Record) stamps() ([]byte, error) {
	f, err := os.Open(r.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	at := headerBytes + r.header.ListBytes
	if info.Size() != at+r.header.StampBytes {
		return nil, fmt.Errorf("%s: %w: its size is wrong", r.path, ErrRecord)
	}
	b := make([]byte, r.header.StampBytes)
	if _, err := f.ReadAt(b, at); err != nil {
		return nil, err
	}
	if crc32.Checksum(b, castagnoli()) != r.header.StampSum {
		return nil, fmt.Errorf("%s: %w: the checksum of its stamps is wrong", r.path, ErrRecord)
	}
	return b, nil
}

// check is a check of a root.
type check struct {
	root   int // descriptor
	dev    uint64
	chunks [][]byte
	next   atomic.Int64
}

func (c *check) split(stamps []byte) error {
	for len(stamps) > 0 {
		rest := stamps
		for n := 0; n < chunk && len(rest) > 0; n++ {
			var err error
			if _, rest, err = cutStamp(rest); err != nil {
				return err
			}
		}
		c.chunks = append(c.chunks, stamps[:len(stamps)-len(rest)])
		stamps = rest
	}
	return nil
}

func (c *check) work(ctx context.Context) error {
	for {
		i := int(c.next.Add(1)) - 1
		if i >= len(c.chunks) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.chunk(c.chunks[i]); err != nil {
			return err
		}
	}
}

func (c *check) chunk(stamps []byte) error {
	dirs := openDirs{root: c.root}
	defer dirs.close(0)
	for len(stamps) > 0 {
		s, rest, err := cutStamp(stamps)
		if err != nil {
			return err
		}
		stamps = rest
		dir, err := dirs.open(s.dir)
		if err != nil {
			return fmt.Errorf("%w: directory %q: %w", ErrChanged, s.dir, err)
		}
		var st unix.Stat_t
		if err := unix.Fstatat(dir, string(s.base), &st, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH); err != nil {
			return fmt.Errorf("%w: %q: %w", ErrChanged, s.path(), err)
		}
		if stampOf(&st) != s.stamp() || st.Dev != c.dev {
			return fmt.Errorf("%w: %q is not what it was", ErrChanged, name(s.path()))
		}
	}
	return nil
}

// openDirs is the open directories on the way to the current one. Stamps are sorted by path, so each directory is opened
// about once.
type openDirs struct {
	root int
	dirs []opened
}

type opened struct {
	path []byte
	fd   int
}

func (t *openDirs) open(path []byte) (int, error) {
	for len(t.dirs) > 0 && !t.dirs[len(t.dirs)-1].leadsTo(path) {
		t.close(len(t.dirs) - 1)
	}
	above, rest := t.root, path
	if len(t.dirs) > 0 {
		last := t.dirs[len(t.dirs)-1]
		above, rest = last.fd, bytes.TrimPrefix(path[len(last.path):], []byte("/"))
	}
	if len(rest) == 0 {
		return above, nil
	}
	fd, err := beneath.Open(above, string(rest), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	t.dirs = append(t.dirs, opened{path, fd})
	return fd, nil
}

func (o opened) leadsTo(path []byte) bool {
	rest, is := bytes.CutPrefix(path, o.path)
	return is && (len(rest) == 0 || rest[0] == '/')
}

// close closes all but the first n.
func (t *openDirs) close(n int) {
	for _, d := range t.dirs[n:] {
		unix.Close(d.fd)
	}
	t.dirs = t.dirs[:n]
}
