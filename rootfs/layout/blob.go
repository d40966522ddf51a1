package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/cas"
)

// Has reports whether the blob exists and has the right size. It does not verify the content, as Writer and Blob do.
func (l *Layout) Has(desc ocispec.Descriptor) (bool, error) {
	if err := Check(desc); err != nil {
		return false, err
	}
	size, err := l.blobs.Size(desc.Digest.Encoded())
	if absent(err) {
		return false, nil
	}
	return err == nil && size == desc.Size, err
}

// absent reports whether an error says that there is no such blob, or not a whole one.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, cas.ErrCorrupt) }

// Blob opens a blob for reading. If the contents do not match, the read at the end returns cas.ErrCorrupt instead of io.EOF;
// a reader that stops earlier has verified nothing. A missing blob is fs.ErrNotExist.
func (l *Layout) Blob(desc ocispec.Descriptor) (io.ReadCloser, error) {
	if err := Check(desc); err != nil {
		return nil, err
	}
	f, err := l.blobs.Open(desc.Digest.Encoded())
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != desc.Size {
		err = fmt.Errorf("blob %s: %w: it has %d bytes, not %d", desc.Digest, cas.ErrCorrupt, info.Size(), desc.Size)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return cas.NewReader(f, desc.Digest.Encoded()), nil
}

// Verify reads a blob to its end. The error is as Blob's.
func (l *Layout) Verify(ctx context.Context, desc ocispec.Descriptor) error {
	r, err := l.Blob(desc)
	if err != nil {
		return advised(err)
	}
	defer r.Close()
	_, err = io.Copy(io.Discard, bounded.Until(ctx, r))
	return advised(err)
}

// advised adds what to do about a damaged blob.
func advised(err error) error {
	if errors.Is(err, cas.ErrCorrupt) {
		return fmt.Errorf("%w; pull or import the image again", err)
	}
	return err
}
