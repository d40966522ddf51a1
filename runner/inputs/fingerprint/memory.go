package fingerprint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/cachefile"
)

// The form of a cached tree: memoryMagic and the file system's number, 8 bytes; records in the order of the walk, each the
// length of its path and the path, then device, inode, size, change time in seconds and nanoseconds, and the SHA-256 of the
// file; a record of the path "/", which ends them; and SHA-256 of all before. Numbers are varints, the seconds a signed one.
const memoryMagic = "scidex-oci fingerprints 1\n"

const (
	// unchanged is how long a file must be unchanged for its digest to be cached. Change times come from a clock with ticks of
	// 10 ms at most, on file systems with small inodes of a second.
	unchanged = 2 * time.Second
	// endMark is no path of an entry.
	endMark = "/"
)

// memory joins two lists of files by their paths: the cached ones, and those that the walk sees, which are cached next. So
// neither is ever held in memory. A nil memory caches nothing.
type memory struct {
	path  string // of the file
	since time.Time

	before *bufio.Reader // nil: at its end, or nothing is cached
	source *os.File
	last   item // the first one not yet passed

	target atomicfile.File
	after  *bufio.Writer
	digest hash.Hash
	buf    []byte
}

// item is a file as of its change time.
type item struct {
	path   string
	id     inode.ID
	size   uint64
	ctime  unix.StatxTimestamp
	digest sum
}

// recall starts to read the cache of a tree, and to write it again. Trees on file systems with unreliable change times are
// not cached.
func (m Maker) recall(top *os.File, st *unix.Statx_t) *memory {
	var system unix.Statfs_t
	if m.Dir == "" || unix.Fstatfs(int(top.Fd()), &system) != nil || !inode.Timely(&system) {
		return nil
	}
	id := inode.Of(st)
	kept := &memory{path: filepath.Join(m.Dir, fmt.Sprintf("%x-%x", id.Dev, id.Ino)), since: time.Now().Add(-unchanged), digest: sha256.New()}
	target, err := cachefile.Create(m.Dir)
	if err != nil {
		return nil // what cannot be cached is read again
	}
	head := binary.LittleEndian.AppendUint64([]byte(memoryMagic), inode.FileSystem(&system))
	kept.target, kept.after = target, bufio.NewWriter(io.MultiWriter(target, kept.digest))
	kept.after.Write(head) //nolint:errcheck // keep has it
	kept.open(head)
	return kept
}

// open opens the cache, if it is whole.
func (m *memory) open(head []byte) {
	f, size, err := cachefile.Open(m.path, math.MaxInt64)
	if err != nil {
		return
	}
	if !whole(f, size, head) {
		f.Close()
		return
	}
	m.source = f
	m.before = bufio.NewReaderSize(io.NewSectionReader(f, int64(len(head)), size-int64(len(head))-sha256.Size), 64<<10)
	m.step()
}

// whole reports whether a cache file is complete, of this version and file system.
func whole(f *os.File, size int64, head []byte) bool {
	body := size - sha256.Size
	if body < int64(len(head)) {
		return false
	}
	begin, end, h := make([]byte, len(head)), make([]byte, sha256.Size), sha256.New()
	if _, err := f.ReadAt(begin, 0); err != nil || !bytes.Equal(begin, head) {
		return false
	}
	if _, err := f.ReadAt(end, body); err != nil {
		return false
	}
	_, err := io.Copy(h, io.NewSectionReader(f, 0, body))
	return err == nil && bytes.Equal(h.Sum(nil), end)
}

// find returns the digest of a file that has not changed. Paths come in the order of the walk.
func (m *memory) find(path string, st *unix.Statx_t) (sum, bool) {
	if m == nil {
		return sum{}, false
	}
	for m.before != nil && before(m.last.path, path) {
		m.step()
	}
	l := m.last
	if m.before == nil || l.path != path || l.id != inode.Of(st) || l.size != st.Size || l.ctime != st.Ctime {
		return sum{}, false
	}
	return l.digest, true
}

// before reports whether the walk reaches one path before the other: it compares them name by name.
func before(a, b string) bool {
	for {
		x, restX, moreX := strings.Cut(a, "/")
		y, restY, moreY := strings.Cut(b, "/")
		if x != y || !moreX || !moreY {
			return x < y || x == y && !moreX && moreY
		}
		a, b = restX, restY
	}
}

// step reads the next record, or ends the reading.
func (m *memory) step() {
	r := numbers{from: m.before}
	length := r.next()
	if r.err == nil && length > 0 && length <= 1<<20 {
		m.buf = append(m.buf[:0], make([]byte, length)...)
		_, r.err = io.ReadFull(m.before, m.buf)
	}
	m.last = item{
		path: string(m.buf[:min(uint64(len(m.buf)), length)]), id: inode.ID{Dev: r.next(), Ino: r.next()}, size: r.next(),
		ctime: unix.StatxTimestamp{Sec: r.signed(), Nsec: uint32(r.next())},
	}
	if r.err == nil {
		_, r.err = io.ReadFull(m.before, m.last.digest[:])
	}
	if r.err != nil || m.last.path == endMark {
		m.before = nil
	}
}

// note caches a file, if it has been unchanged for long enough.
func (m *memory) note(path string, st *unix.Statx_t, digest sum) error {
	if m == nil || !changed(st).Before(m.since) {
		return nil
	}
	return m.write(item{path, inode.Of(st), st.Size, st.Ctime, digest})
}

func (m *memory) write(i item) error {
	b := binary.AppendUvarint(m.buf[:0], uint64(len(i.path)))
	b = append(b, i.path...)
	for _, number := range []uint64{i.id.Dev, i.id.Ino, i.size} {
		b = binary.AppendUvarint(b, number)
	}
	b = binary.AppendVarint(b, i.ctime.Sec)
	b = binary.AppendUvarint(b, uint64(i.ctime.Nsec))
	m.buf = append(b, i.digest[:]...)
	_, err := m.after.Write(m.buf)
	return err
}

// keep replaces the cache with what the walk has seen.
func (m *memory) keep() error {
	if m == nil {
		return nil
	}
	err := errors.Join(m.write(item{path: endMark}), m.after.Flush())
	if err == nil {
		_, err = m.target.Write(m.digest.Sum(nil))
	}
	if err != nil {
		return err
	}
	target := m.target
	m.target.File = nil
	return cachefile.Publish(target, m.path)
}

// discard drops what was not kept.
func (m *memory) discard() {
	if m == nil {
		return
	}
	if m.source != nil {
		m.source.Close()
	}
	if m.target.File != nil {
		_ = m.target.Discard()
	}
}

// numbers reads varints up to the first error.
type numbers struct {
	from *bufio.Reader
	err  error
}

func (n *numbers) next() (v uint64) {
	if n.err == nil {
		v, n.err = binary.ReadUvarint(n.from)
	}
	return v
}

func (n *numbers) signed() (v int64) {
	if n.err == nil {
		v, n.err = binary.ReadVarint(n.from)
	}
	return v
}
