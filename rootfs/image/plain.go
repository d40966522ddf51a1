package image

import (
	"context"
	"io"
	"os"
	"runtime"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// tarSource is a tar of a root filesystem. It becomes the only layer of an image, whose config is made up of what
// is known: our platform, and no environment, working directory or entrypoint.
type tarSource struct {
	file *os.File
	kind compression
}

func (s tarSource) fetch(ctx context.Context, to *layout.Layout, progress func(Progress)) (ocispec.Descriptor, error) {
	layer, diffID, err := s.sums(ctx, progress)
	if err != nil {
		return layer, err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return layer, err
	}
	if err := to.Put(ctx, layer, watched(s.file, Progress{Phase: Copying, Digest: layer.Digest, Total: layer.Size}, progress)); err != nil {
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

// sums reads the file once for the digests of what is stored and of the tar in it.
func (s tarSource) sums(ctx context.Context, progress func(Progress)) (ocispec.Descriptor, digest.Digest, error) {
	info, err := s.file.Stat()
	if err == nil {
		_, err = s.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	stored, inside := digest.SHA256.Digester(), digest.SHA256.Digester()
	from := io.TeeReader(watched(interruptible{ctx, s.file}, Progress{Phase: Reading, Total: info.Size()}, progress), stored.Hash())
	bounds := unpack.DefaultBounds()
	r, err := unpack.Decompress(from, bounds)
	if err != nil {
		return ocispec.Descriptor{}, "", err
	}
	defer r.Close()
	if _, err := io.Copy(inside.Hash(), &bounded{r, bounds.Bytes}); err != nil {
		return ocispec.Descriptor{}, "", err
	}
	layer := ocispec.Descriptor{MediaType: s.kind.mediaType(), Digest: stored.Digest(), Size: info.Size()}
	return layer, inside.Digest(), nil
}

// bounded fails where more than left bytes come.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, unpack.ErrBound
	}
	return n, err
}

// interruptible ends reading when a context does.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}
