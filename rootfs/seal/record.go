package seal

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
)

// A record is a header, the list and the stamps. The header has a digest of itself and of the list, and a checksum of the
// stamps, which is ten times as fast, at the start of every run, and detects disk errors. What it misses does no harm:
// wrong stamps do not match the root.

// castagnoli is the polynomial with CPU support.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// header is the start of a record, little-endian.
type header struct {
	Magic      [16]byte
	ListSum    [sha256.Size]byte // the rootfs digest
	ListBytes  int64
	StampBytes int64
	Entries    int64
	Bytes      int64
	Owner      uint32
	StampSum   uint32            // CRC-32C
	Sum        [sha256.Size]byte // of all before
}

var (
	magic       = [16]byte([]byte("scidex-oci seal1"))
	headerBytes = int64(binary.Size(header{}))
)

func (h *header) encode() []byte {
	h.Magic = magic
	b, _ := binary.Append(nil, binary.LittleEndian, h) // its size is fixed
	before := b[:headerBytes-sha256.Size]
	h.Sum = sha256.Sum256(before)
	return append(before, h.Sum[:]...)
}

func readHeader(r io.ReaderAt) (header, error) {
	var h header
	b := make([]byte, headerBytes)
	if _, err := r.ReadAt(b, 0); errors.Is(err, io.EOF) {
		return h, fmt.Errorf("%w: it ends in its header", ErrRecord)
	} else if err != nil {
		return h, err
	}
	if _, err := binary.Decode(b, binary.LittleEndian, &h); err != nil {
		return h, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if h.Magic != magic {
		return h, fmt.Errorf("%w: it is no record, or of another version", ErrRecord)
	}
	if h.Sum != sha256.Sum256(b[:headerBytes-sha256.Size]) {
		return h, fmt.Errorf("%w: the digest of its header is wrong", ErrRecord)
	}
	return h, nil
}

// writer makes a record: the list in a file next to the record's path, the stamps in an unnamed one.
type writer struct {
	header
	file        atomicfile.File
	stamps      *os.File
	list, stamp *part
	lastTick    time.Time // later changes postdate the read
	buf         []byte
}

// part is a section of a record being written.
type part struct {
	*bufio.Writer
	sum hash.Hash
	n   int64
}

func newPart(to io.Writer, sum hash.Hash) *part {
	return &part{Writer: bufio.NewWriterSize(io.MultiWriter(to, sum), 64<<10), sum: sum}
}

func (p *part) add(b []byte) error {
	p.n += int64(len(b))
	_, err := p.Write(b)
	return err
}

// write writes a record of root to path, replacing an existing one. If want is not nil, root must match it.
func write(ctx context.Context, root *os.File, path string, sums Sums, want *list) (header, error) {
	w, err := newWriter(path)
	if err != nil {
		return header{}, err
	}
	defer w.discard()
	if w.lastTick, err = waitForTick(ctx, w.stamps); err != nil {
		return header{}, err
	}
	walk, err := newWalk(root, sums)
	if err != nil {
		return header{}, err
	}
	w.Owner = walk.top.Uid
	if want == nil {
		err = walk.run(ctx, w.add)
	} else {
		err = want.holds(ctx, walk, w.add)
	}
	if err == nil {
		err = w.publish(path)
	}
	return w.header, err
}

func newWriter(path string) (*writer, error) {
	temp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".")
	file, err := atomicfile.Create(temp + rand.Text())
	if err != nil {
		return nil, err
	}
	stamps, err := os.CreateTemp(filepath.Dir(path), filepath.Base(temp)+"*")
	if err != nil {
		return nil, errors.Join(err, file.Discard())
	}
	w := &writer{file: file, stamps: stamps, list: newPart(file, sha256.New()), stamp: newPart(stamps, crc32.New(castagnoli()))}
	err = os.Remove(stamps.Name())
	if err == nil {
		_, err = file.Seek(headerBytes, io.SeekStart)
	}
	if err != nil {
		w.discard()
		return nil, err
	}
	return w, nil
}

func (w *writer) discard() {
	_ = w.file.Discard() // which is no more if it was published
	w.stamps.Close()
}

func (w *writer) add(e *entry) error {
	if time.Unix(e.st.Ctim.Unix()).After(w.lastTick) {
		return fmt.Errorf("%w: %q while it was sealed", ErrChanged, name(e.path))
	}
	w.Entries++
	if e.st.Mode&unix.S_IFMT == unix.S_IFREG {
		w.Bytes += e.st.Size
	}
	w.buf = e.line(w.buf[:0])
	if err := w.list.add(w.buf); err != nil {
		return err
	}
	w.buf = appendStamp(w.buf[:0], e)
	return w.stamp.add(w.buf)
}

// publish makes the record durable and renames it.
func (w *writer) publish(path string) error {
	if err := errors.Join(w.list.Flush(), w.stamp.Flush()); err != nil {
		return err
	}
	if _, err := w.stamps.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(w.file, w.stamps); err != nil {
		return err
	}
	w.ListBytes, w.StampBytes = w.list.n, w.stamp.n
	w.list.sum.Sum(w.ListSum[:0])
	w.StampSum = binary.BigEndian.Uint32(w.stamp.sum.Sum(nil))
	if _, err := w.file.WriteAt(w.encode(), 0); err != nil {
		return err
	}
	return w.file.Replace(path, atomicfile.Durable)
}

// waitForTick waits until the file system's clock has advanced, and returns its previous time: changes until then have at
// most that change time, later ones a later one. The clock of a file system ticks every few milliseconds, of some every
// second; without this wait, a change right after the seal could have the same time as one before.
func waitForTick(ctx context.Context, f *os.File) (time.Time, error) {
	before, err := touch(f)
	for now := before; err == nil && !now.After(before); now, err = touch(f) {
		select {
		case <-ctx.Done():
			return before, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return before, err
}

// touch returns the file system's change time for a file now.
func touch(f *os.File) (time.Time, error) {
	// Not by futimens(3): that sets the caller's time.
	if err := f.Chmod(0o600); err != nil {
		return time.Time{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return time.Time{}, err
	}
	return time.Unix(st.Ctim.Unix()), nil
}
