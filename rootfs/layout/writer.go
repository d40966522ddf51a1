package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Errors for a Writer's caller.
var (
	// ErrExists is returned by Writer for an existing, complete blob.
	ErrExists = errors.New("the blob is there already")
	// ErrIncomplete is returned by Commit while bytes are missing.
	ErrIncomplete = errors.New("the blob is not complete")
	// ErrMismatch is returned if the contents do not match the descriptor.
	ErrMismatch = errors.New("the contents are not what the descriptor promises")
)

// Writer writes one blob into a partial file that outlives it, so that a later Writer can resume. It is not safe for
// concurrent use.
type Writer struct {
	layout *Layout
	desc   ocispec.Descriptor
	file   *os.File
	sum    digest.Digester
	offset int64
}

// Writer waits until no one else writes this blob, in this or another process, and resumes their work. It returns
// ErrExists for an existing blob, which it reads and verifies; Commit replaces a damaged one. Hold keeps the blob from
// the look-up until it is named.
func (l *Layout) Writer(ctx context.Context, desc ocispec.Descriptor) (*Writer, error) {
	if err := Check(desc); err != nil {
		return nil, err
	}
	w, err := l.writer(ctx, desc)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", desc.Digest, err)
	}
	return w, nil
}

func (l *Layout) writer(ctx context.Context, desc ocispec.Descriptor) (*Writer, error) {
	f, err := lockPartial(ctx, l.partial(desc.Digest.Encoded()))
	if err != nil {
		return nil, err
	}
	w := &Writer{layout: l, desc: desc, file: f}
	there, err := l.whole(ctx, desc)
	if err == nil && there {
		err = errors.Join(ErrExists, os.Remove(f.Name()))
	}
	if err == nil {
		err = w.resume(ctx)
	}
	if err == nil {
		err = w.room()
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return w, nil
}

// lockPartial opens and locks a partial file.
func lockPartial(ctx context.Context, path string) (*os.File, error) {
	f, err := flock.Open(ctx, path, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK, 0o600, flock.Exclusive)
	if ctx.Err() != nil && err != nil {
		return nil, fmt.Errorf("wait for another writer of it: %w", err)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file; remove it", path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// resume hashes what an earlier writer left. If that is longer than the blob, it is dropped.
func (w *Writer) resume(ctx context.Context) error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > w.desc.Size {
		return w.Reset()
	}
	w.sum = algorithm.Digester()
	w.offset, err = io.Copy(w.sum.Hash(), interruptible{ctx, w.file})
	return err
}

// room fails early if the file system lacks the space.
func (w *Writer) room() error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(w.file.Fd()), &st); err != nil {
		return err
	}
	free, need := uint64(st.Bsize)*st.Bavail, uint64(w.desc.Size-w.offset)
	if need > free {
		return fmt.Errorf("%s are to come and %s are free in %s: %w", format.Size(int64(need)), format.Size(int64(free)), w.layout.dir, unix.ENOSPC)
	}
	return nil
}

// Offset is the number of bytes written so far; the next Write continues there.
func (w *Writer) Offset() int64 { return w.offset }

// Write appends to the blob. If that exceeds the descriptor's size, it writes nothing and returns ErrMismatch.
func (w *Writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.desc.Size-w.offset {
		return 0, fmt.Errorf("blob %s: %w: more than its %d bytes came", w.desc.Digest, ErrMismatch, w.desc.Size)
	}
	n, err := w.file.Write(p)
	w.sum.Hash().Write(p[:n])
	w.offset += int64(n)
	if err != nil {
		return n, fmt.Errorf("blob %s: %w", w.desc.Digest, err)
	}
	return n, nil
}

// Reset drops what this writer and earlier ones wrote.
func (w *Writer) Reset() error {
	w.sum, w.offset = algorithm.Digester(), 0
	if err := w.file.Truncate(0); err != nil {
		return err
	}
	_, err := w.file.Seek(0, io.SeekStart)
	return err
}

// Commit makes the blob, durably. It returns ErrIncomplete while bytes are missing, and ErrMismatch for another digest:
// then all bytes are dropped, as it is unknown which are wrong.
func (w *Writer) Commit() error {
	if err := w.commit(); err != nil {
		return fmt.Errorf("blob %s: %w", w.desc.Digest, err)
	}
	return nil
}

func (w *Writer) commit() error {
	if w.offset < w.desc.Size {
		return fmt.Errorf("%w: it has %d of %d bytes", ErrIncomplete, w.offset, w.desc.Size)
	}
	if got := w.sum.Digest(); got != w.desc.Digest {
		return errors.Join(fmt.Errorf("%w: their digest is %s", ErrMismatch, got), w.Reset())
	}
	if err := w.file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(w.file.Name(), w.layout.blobs(w.desc.Digest.Encoded())); err != nil {
		return err
	}
	// Not before: a read-only partial file could not be resumed after a kill in between.
	if err := w.file.Chmod(blobMode); err != nil {
		return err
	}
	return atomicfile.SyncDir(w.layout.blobs(""))
}

// Close releases this blob to other writers. Uncommitted bytes stay for them.
func (w *Writer) Close() error { return w.file.Close() }

// Put writes the whole blob from r, which must have exactly its contents. An existing blob is no error.
func (l *Layout) Put(ctx context.Context, desc ocispec.Descriptor, r io.Reader) error {
	w, err := l.Writer(ctx, desc)
	if errors.Is(err, ErrExists) {
		return nil
	}
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Reset(); err != nil {
		return fmt.Errorf("blob %s: %w", desc.Digest, err)
	}
	if _, err := io.Copy(w, interruptible{ctx, r}); err != nil {
		return err
	}
	return w.Commit()
}
