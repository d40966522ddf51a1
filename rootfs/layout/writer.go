package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/cas"
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
	desc   ocispec.Descriptor
	ingest *cas.Ingest // of the blob's digest, so that a blob has one writer
	file   *os.File    // the partial file
	sum    digest.Digester
	offset int64
	done   bool // there is nothing left to resume
}

// partialFile is the partial file in the ingest directory of a blob.
const partialFile = "partial"

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
	ingest, err := l.blobs.TakeIngest(ctx, desc.Digest.Encoded())
	if ctx.Err() != nil && err != nil {
		return nil, fmt.Errorf("wait for another writer of it: %w", err)
	}
	if err != nil {
		return nil, err
	}
	w := &Writer{desc: desc, ingest: ingest}
	err = l.Verify(ctx, desc)
	w.done = err == nil
	if w.done {
		err = ErrExists
	} else if absent(err) {
		err = w.open(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Writer) open(ctx context.Context) (err error) {
	if w.file, err = w.ingest.Resume(partialFile); err != nil {
		return err
	}
	if err := w.resume(ctx); err != nil {
		return err
	}
	return w.checkSpace()
}

// resume hashes what an earlier writer left. If that is longer than the blob, it is dropped.
func (w *Writer) resume(ctx context.Context) error {
	info, err := w.file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file; remove it", w.file.Name())
	}
	if info.Size() > w.desc.Size {
		return w.Reset()
	}
	w.sum = algorithm.Digester()
	w.offset, err = io.Copy(w.sum.Hash(), bounded.Until(ctx, w.file))
	return err
}

// checkSpace fails early if the file system lacks the space.
func (w *Writer) checkSpace() error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(w.file.Fd()), &st); err != nil {
		return err
	}
	free, need := uint64(st.Bsize)*st.Bavail, uint64(w.desc.Size-w.offset)
	if need > free {
		return fmt.Errorf("%s are to come and %s are free in %s: %w", format.Size(int64(need)), format.Size(int64(free)), filepath.Dir(w.file.Name()), unix.ENOSPC)
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
	if err := w.ingest.Publish(partialFile, w.desc.Digest.Encoded()); err != nil {
		return err
	}
	w.done = true
	return w.ingest.Sync()
}

// Close releases this blob to other writers. Uncommitted bytes stay for them.
func (w *Writer) Close() error {
	var err error
	if w.file != nil {
		err = w.file.Close()
	}
	if w.done {
		return errors.Join(err, w.ingest.Close())
	}
	w.ingest.Leave()
	return err
}

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
	if _, err := io.Copy(w, bounded.Until(ctx, r)); err != nil {
		return err
	}
	return w.Commit()
}
