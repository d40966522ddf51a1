// Package unpack applies the layers of a container image, OCI's or Docker's, to a directory: as any user, in the calling
// process, without trusting a layer. Entries are reached from the directory's descriptor, and the kernel never follows a
// symbolic link to them.
//
// The root is for analyses under other ids, read-only: it has only files, directories and symbolic links. Everything
// belongs to the caller. Modes are 0755 for directories and files that anyone may execute, 0644 for all others: the
// analysis can read everything, and only the caller can write. Set-id and sticky bits, extended attributes (including
// file capabilities) and owners are dropped. Devices and FIFOs are skipped: users cannot make devices, /dev
// is mounted in every run, and a FIFO would be a channel between runs that share the root. Modification times are kept:
// Python compares them with those in its compiled files.
package unpack

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"runtime"

	digest "github.com/opencontainers/go-digest"
	"golang.org/x/sys/unix"
)

// totals count what layers had, for the bounds.
type totals struct {
	entries int64 // of the archives
	bytes   int64 // of files' contents, with holes
	read    int64 // of the uncompressed archives
}

// Root is a directory to which layers are applied, the lowest first.
type Root struct {
	dir    *os.File
	bounds Bounds
	totals totals
	sums   *Sums
	names  int64 // bytes
	empty  bool  // before the first layer
}

// newRoot prepares dir, which must be empty. The caller owns and closes it.
func newRoot(dir *os.File, bounds Bounds) *Root {
	return &Root{dir: dir, bounds: bounds, sums: new(Sums), empty: true}
}

// Sums are the digests of all existing files written here.
func (r *Root) Sums() *Sums { return r.sums }

// Layer applies the next layer, an uncompressed tar stream, and returns the digest of the whole stream, which is the
// layer's diff id. It reads the stream to its end, past the end of the archive. After an error the directory is unusable.
func (r *Root) Layer(ctx context.Context, stream io.Reader) (digest.Digest, error) {
	prefetched := readAhead(stream)
	defer prefetched.stop()
	if err := r.apply(ctx, prefetched); err != nil {
		return "", err
	}
	r.empty = false
	return prefetched.digest(), nil
}

func (r *Root) apply(ctx context.Context, stream io.Reader) error {
	defer runtime.KeepAlive(r.dir)
	in := &metered{ctx: ctx, r: stream, root: r}
	l := &layer{
		Root:    r,
		root:    int(r.dir.Fd()),
		tar:     tar.NewReader(in),
		sum:     sha256.New(),
		buf:     make([]byte, 256<<10),
		fresh:   map[string]struct{}{},
		hidden:  map[string]struct{}{},
		skipped: map[string]struct{}{},
		times:   map[string]unix.Timespec{},
		parent:  directory{fd: -1},
	}
	defer l.forget()
	if err := l.entries(); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return fmt.Errorf("read layer: %w", err)
	}
	return l.restoreTimes()
}

// layer is a layer being applied.
type layer struct {
	*Root
	root int // descriptor
	tar  *tar.Reader
	sum  hash.Hash
	buf  []byte

	// Paths from the root, without links: those made by this layer, which its whiteouts do not hide; those that its
	// whiteouts were applied to; names of skipped entries; and the directories' modification times, set at the end.
	fresh, hidden, skipped map[string]struct{}
	times                  map[string]unix.Timespec

	parent directory // of the last entry, for reuse
	stale  bool      // something was removed: its name may mean another directory
}

func (l *layer) entries() error {
	for {
		h, err := l.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read layer: %w", err)
		}
		l.totals.entries++
		if l.totals.entries > l.bounds.Entries {
			return beyond("entries", l.bounds.Entries)
		}
		if err := l.entry(h); err != nil {
			return fmt.Errorf("layer entry %q: %w", h.Name, err)
		}
		if l.names > l.bounds.Names {
			return beyondBytes("of names", l.bounds.Names)
		}
	}
}

// metered counts what is read of a layer and ends at its bounds or with the context. It has no Seek: skipped bytes would
// be missing in the digest.
type metered struct {
	ctx  context.Context
	r    io.Reader
	root *Root
}

func (m *metered) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.r.Read(p)
	m.root.totals.read += int64(n)
	if m.root.totals.read > m.root.bounds.Bytes {
		return 0, beyondBytes("without compression", m.root.bounds.Bytes)
	}
	return n, err
}
