package unpack

import (
	"context"
	"fmt"
	"io"
	"os"

	digest "github.com/opencontainers/go-digest"
)

// Source is one layer of an image.
type Source struct {
	// Open opens the layer as stored: a tar stream, plain or compressed by gzip or zstd. A verifying reader returns an
	// error instead of io.EOF; it is read to its end.
	Open func() (io.ReadCloser, error)
	// DiffID is the uncompressed layer's digest in the image's config.
	DiffID digest.Digest
}

// Image applies all layers of an image, lowest first, to dir, which must be empty, and verifies their diff ids. The
// bounds are for all together. After an error dir is unusable.
func Image(ctx context.Context, dir *os.File, layers []Source, bounds Bounds) (*Root, error) {
	root := newRoot(dir, bounds)
	for i, layer := range layers {
		if err := root.source(ctx, layer); err != nil {
			return nil, fmt.Errorf("layer %d of %d: %w", i+1, len(layers), err)
		}
	}
	return root, nil
}

func (r *Root) source(ctx context.Context, layer Source) error {
	if err := layer.DiffID.Validate(); err != nil {
		return fmt.Errorf("diff id %q: %w", layer.DiffID, err)
	}
	blob, err := layer.Open()
	if err != nil {
		return err
	}
	defer blob.Close()
	stream, err := Decompress(blob, r.bounds)
	if err != nil {
		return err
	}
	defer stream.Close()
	is, err := r.Layer(ctx, stream)
	if err != nil {
		return err
	}
	if is != layer.DiffID {
		return fmt.Errorf("its contents have the digest %s and not the diff id %s of the image", is, layer.DiffID)
	}
	return nil
}
