package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"

	"golang.org/x/sys/unix"
)

const (
	copyBytes = 256 << 10 // read at a time
	headBytes = 3072      // to detect the media type
)

// copier copies regular files of a hostile tree. It serves many files to reuse its buffers. Its refusals are verdicts on the
// source, which another process has changed; its errors are of a file system.
type copier struct {
	buf  []byte
	zero []byte
	head []byte // first headBytes of the last file
}

func newCopier() *copier {
	return &copier{buf: make([]byte, copyBytes), zero: make([]byte, copyBytes), head: make([]byte, 0, headBytes)}
}

// copy copies the file that st describes from src to the empty file dst and returns its digest. Without dst it only
// reads. Holes stay holes. It takes exactly st.Size bytes: a file that is longer or shorter, or whose inode changes
// during the read, is refused as changed.
func (c *copier) copy(ctx context.Context, src int, st *unix.Stat_t, dst *os.File) (string, error) {
	sum := sha256.New()
	c.head = c.head[:min(st.Size, headBytes)]
	clear(c.head)
	sparse := st.Blocks*512 < st.Size
	for off := int64(0); off < st.Size; {
		data, hole := off, st.Size
		if sparse {
			data, hole = extent(src, off, st.Size)
		}
		if err := c.zeros(ctx, sum, data-off); err != nil {
			return "", err
		}
		if err := c.data(ctx, src, st, dst, sum, data, hole); err != nil {
			return "", err
		}
		off = hole
	}
	if sparse && dst != nil {
		if err := dst.Truncate(st.Size); err != nil {
			return "", err
		}
	}
	if err := c.unchanged(src, st); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// whole reads the small file that st describes into room, which is longer than the file, and returns its contents. It
// refuses what copy refuses.
func (c *copier) whole(src int, st *unix.Stat_t, room []byte) ([]byte, error) {
	size := int(st.Size)
	for read := 0; ; {
		n, err := pread(src, room[read:size+1], int64(read))
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		if read += n; read > size {
			return nil, resized(src, st, "longer")
		}
		if read == size {
			return room[:size], sameInode(src, st)
		}
		if n == 0 {
			return nil, resized(src, st, "shorter")
		}
	}
}

// extent returns where the next data at or after off starts and ends (lseek(2), SEEK_DATA). If the file system cannot say,
// everything is data.
func extent(fd int, off, size int64) (data, hole int64) {
	data, err := unix.Seek(fd, off, unix.SEEK_DATA)
	if err == unix.ENXIO { // none, if a hole begins here
		if hole, err := unix.Seek(fd, off, unix.SEEK_HOLE); err == nil && hole == off {
			return size, size
		}
	}
	if err != nil {
		return off, size
	}
	if data >= size {
		return size, size
	}
	hole, err = unix.Seek(fd, data, unix.SEEK_HOLE)
	if err != nil || hole <= data || hole > size {
		hole = size
	}
	return data, hole
}

func (c *copier) zeros(ctx context.Context, sum hash.Hash, n int64) error {
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := min(n, copyBytes)
		sum.Write(c.zero[:part])
		n -= part
	}
	return nil
}

func (c *copier) data(ctx context.Context, src int, st *unix.Stat_t, dst *os.File, sum hash.Hash, off, end int64) error {
	for off < end {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := pread(src, c.buf[:min(end-off, copyBytes)], off)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if n == 0 {
			return resized(src, st, "shorter")
		}
		if off < int64(len(c.head)) {
			copy(c.head[off:], c.buf[:n])
		}
		sum.Write(c.buf[:n])
		if dst != nil {
			if _, err := dst.WriteAt(c.buf[:n], off); err != nil {
				return fmt.Errorf("copy: %w", err)
			}
		}
		off += int64(n)
	}
	return nil
}

// unchanged refuses a file whose inode is not as st described it before the read. Reading itself
// changes only the access time.
func (c *copier) unchanged(src int, st *unix.Stat_t) error {
	n, err := pread(src, c.buf[:1], st.Size)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if n > 0 {
		return resized(src, st, "longer")
	}
	return sameInode(src, st)
}

// resized is the verdict on a file with more or fewer bytes than st says. If its size is the same, it is the file system
// that gave the wrong number.
func resized(src int, st *unix.Stat_t, how string) error {
	var now unix.Stat_t
	if err := unix.Fstat(src, &now); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if now.Size == st.Size {
		return fmt.Errorf("read: the contents are %s than the %d bytes of its size", how, st.Size)
	}
	return refuse(Changed, "became %s while it was read", how)
}

func sameInode(src int, st *unix.Stat_t) error {
	var now unix.Stat_t
	if err := unix.Fstat(src, &now); err != nil {
		return fmt.Errorf("stat: %w", err)
	}
	if now.Size != st.Size || now.Mtim != st.Mtim || now.Ctim != st.Ctim {
		return refuse(Changed, "was written while it was read")
	}
	return nil
}

func pread(fd int, buf []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(fd, buf, off)
		if err != unix.EINTR {
			return n, err
		}
	}
}
