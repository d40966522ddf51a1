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
	// Open begins to read the layer as it is stored: a tar stream, also compressed by gzip or zstd. A
	// reader that verifies its digest gives an error in place of io.EOF; it is read to its end.
	Open func() (io.ReadCloser, error)
	// DiffID is the digest that the image's config gives for the layer without compression.
	DiffID digest.Digest
}

// Image applies all layers of an image to dir, which must be empty, the lowest first, and verifies their
// diff ids. The bounds are for all of them together. After an error dir is of no use.
func Image(ctx context.Context, dir *os.File, layers []Source, bounds Bounds) (*Root, error) {
	root := NewRoot(dir, bounds)
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
