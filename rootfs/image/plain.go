package image

import (
	"context"
	"io"
	"os"
	"runtime"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// tarSource is a tar of a root filesystem. It becomes an image's only layer. The config has only what is known: this
// machine's platform, and no environment, working directory or entrypoint.
type tarSource struct {
	file *os.File
	kind compression
}

func (s tarSource) fetch(ctx context.Context, to *layout.Layout, tell func(Progress)) (ocispec.Descriptor, error) {
	layer, diffID, err := s.sums(ctx, tell)
	if err != nil {
		return layer, err
	}
	copying := Progress{Phase: Copying, Digest: layer.Digest, Total: layer.Size}
	if err := to.Put(ctx, layer, watched(s.open(ctx, layer.Size), copying, tell)); err != nil {
		return layer, err
	}
	config, err := putJSON(ctx, to, ocispec.MediaTypeImageConfig, ocispec.Image{
		Platform: ocispec.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH},
		RootFS:   ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{diffID}},
	})
	if err != nil {
		return config, err
	}
	return putJSON(ctx, to, ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: config, Layers: []ocispec.Descriptor{layer},
	})
}

// sums computes the descriptor of the file as a layer, with its digest, and the digest of the tar in it. It computes both digests
// at the same time, since hashing takes most of the time.
func (s tarSource) sums(ctx context.Context, tell func(Progress)) (layer ocispec.Descriptor, diffID digest.Digest, err error) {
	info, err := s.file.Stat()
	if err != nil {
		return layer, "", err
	}
	layer.MediaType, layer.Size = s.kind.mediaType(), info.Size()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		layer.Digest, err = digest.SHA256.FromReader(watched(s.open(ctx, layer.Size), Progress{Phase: Reading, Total: layer.Size}, tell))
		return err
	})
	if s.kind != plainTar {
		group.Go(func() (err error) {
			diffID, err = sumInside(s.open(ctx, layer.Size))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return layer, "", err
	}
	if s.kind == plainTar {
		diffID = layer.Digest
	}
	return layer, diffID, nil
}

// open reads the file from its start, at its own offset.
func (s tarSource) open(ctx context.Context, size int64) io.Reader {
	return bounded.Until(ctx, io.NewSectionReader(s.file, 0, size))
}

// sumInside is the digest of uncompressed data.
func sumInside(r io.Reader) (digest.Digest, error) {
	bounds := unpack.DefaultBounds()
	inside, err := unpack.Decompress(r, bounds)
	if err != nil {
		return "", err
	}
	defer inside.Close()
	return digest.SHA256.FromReader(&limited{inside, bounds.Bytes})
}

// limited fails after more than left bytes.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, unpack.ErrBound
	}
	return n, err
}
