package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Media types of Docker's layers (image manifest version 2, schema 2), which say the same as those of OCI.
const (
	dockerLayer   = "application/vnd.docker.image.rootfs.diff.tar"
	dockerLayerGz = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// contents is what a manifest and its config say of an image.
type contents struct {
	desc     ocispec.Descriptor // of the manifest
	manifest ocispec.Manifest
	config   ocispec.Image
}

// read reads and checks the manifest that desc names, and its config. That the layers are there is not looked at.
func read(l *layout.Layout, desc ocispec.Descriptor) (*contents, error) {
	c := &contents{desc: desc}
	data, err := l.Document(desc)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if c.manifest, err = layout.ParseManifest(desc.MediaType, data); err != nil {
		return nil, err
	}
	if err := c.checkManifest(); err != nil {
		return nil, fmt.Errorf("manifest %s: %w", desc.Digest, err)
	}
	if data, err = l.Document(c.manifest.Config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if err = json.Unmarshal(data, &c.config); err == nil {
		err = c.checkConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("config %s: %w", c.manifest.Config.Digest, err)
	}
	return c, nil
}

func (c *contents) checkManifest() error {
	if len(c.manifest.Layers) == 0 {
		return errors.New("the image has no layer, and so no root filesystem")
	}
	for _, layer := range c.manifest.Layers {
		if !isLayer(layer.MediaType) {
			return fmt.Errorf("layer %s has the media type %q, which is no tar of a root filesystem", layer.Digest, layer.MediaType)
		}
	}
	return nil
}

// isLayer knows the media types of layers; how one is compressed is told by its first bytes.
func isLayer(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageLayer, ocispec.MediaTypeImageLayerGzip, ocispec.MediaTypeImageLayerZstd, dockerLayer, dockerLayerGz:
		return true
	}
	return false
}

func (c *contents) checkConfig() error {
	if err := ours(c.config.Platform); err != nil {
		return err
	}
	if got, want := len(c.config.RootFS.DiffIDs), len(c.manifest.Layers); got != want {
		return fmt.Errorf("it names %d layers and the manifest %d", got, want)
	}
	for _, id := range c.config.RootFS.DiffIDs {
		if err := layout.Check(ocispec.Descriptor{Digest: id}); err != nil {
			return fmt.Errorf("diff id: %w", err)
		}
	}
	return nil
}

// ours refuses an image of another platform than this program's.
func ours(p ocispec.Platform) error {
	if p.OS == runtime.GOOS && p.Architecture == runtime.GOARCH {
		return nil
	}
	return foreign(platform(p))
}

func foreign(platforms string) error {
	return fmt.Errorf("the image is for %s and this host is %s/%s; get the image for this platform", platforms, runtime.GOOS, runtime.GOARCH)
}

// platform writes one as "linux/arm64/v8".
func platform(p ocispec.Platform) string {
	words := []string{p.OS, p.Architecture}
	for i, word := range words {
		if word == "" {
			words[i] = "unknown"
		}
	}
	if p.Variant != "" {
		words = append(words, p.Variant)
	}
	return strings.Join(words, "/")
}

// chain names the root filesystem that the layers make (image-spec, config.md, "ChainID").
func (c *contents) chain() digest.Digest { return identity.ChainID(c.config.RootFS.DiffIDs) }

// size is the sum of all blobs in bytes.
func (c *contents) size() int64 {
	total := c.desc.Size + c.manifest.Config.Size
	for _, layer := range c.manifest.Layers {
		total += layer.Size
	}
	return total
}

// putJSON writes a manifest or a config. It is the same for the same value: a plain tar has the same digest
// wherever it is imported.
func putJSON(ctx context.Context, to *layout.Layout, mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	return desc, to.Put(ctx, desc, bytes.NewReader(data))
}

// readAll reads a small file of JSON from a source.
func readAll(from files, name string) ([]byte, error) {
	r, size, err := from.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > layout.MaxManifest {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", name, size, layout.MaxManifest)
	}
	return io.ReadAll(io.LimitReader(r, layout.MaxManifest))
}
