package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Media types of Docker's layers (image manifest version 2, schema 2), equivalent to OCI's.
const (
	dockerLayer   = "application/vnd.docker.image.rootfs.diff.tar"
	dockerLayerGz = "application/vnd.docker.image.rootfs.diff.tar.gzip"
	dockerLayerZs = "application/vnd.docker.image.rootfs.diff.tar.zstd"
)

// contents is an image's manifest and config.
type contents struct {
	desc     ocispec.Descriptor // of the manifest
	manifest ocispec.Manifest
	config   ocispec.Image
}

// read reads and checks the manifest of desc, and its config. It does not check that the layers exist.
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

// isLayer reports whether a media type is a layer's; its first bytes show the compression.
func isLayer(mediaType string) bool {
	switch mediaType {
	case ocispec.MediaTypeImageLayer, ocispec.MediaTypeImageLayerGzip, ocispec.MediaTypeImageLayerZstd, dockerLayer, dockerLayerGz, dockerLayerZs:
		return true
	}
	return false
}

func (c *contents) checkConfig() error {
	if err := checkPlatform(c.config.Platform); err != nil {
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

// host is this program's platform, and so all images'.
var host = ocispec.Platform{OS: runtime.GOOS, Architecture: runtime.GOARCH}

// checkPlatform refuses an image of another platform.
func checkPlatform(p ocispec.Platform) error {
	if p.OS == host.OS && p.Architecture == host.Architecture {
		return nil
	}
	return fmt.Errorf("the image is for %s and this host is %s; get the image for this platform",
		layout.PlatformName(p), layout.PlatformName(host))
}

// chain identifies the layers' root filesystem (image-spec, config.md, "ChainID").
func (c *contents) chain() digest.Digest { return identity.ChainID(c.config.RootFS.DiffIDs) }

// size is the sum of all blobs in bytes.
func (c *contents) size() int64 {
	total := c.desc.Size + c.manifest.Config.Size
	for _, layer := range c.manifest.Layers {
		total += layer.Size
	}
	return total
}

// putJSON writes a manifest or a config. Equal values give equal bytes: a plain tar has the same digest wherever it is
// imported.
func putJSON(ctx context.Context, to *layout.Layout, mediaType string, v any) (ocispec.Descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	desc := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}
	return desc, to.Put(ctx, desc, bytes.NewReader(data))
}

// readAll reads a small JSON file from a source.
func readAll(from files, name string) ([]byte, error) {
	r, _, err := from.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := bounded.ReadAll(r, layout.MaxManifest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
