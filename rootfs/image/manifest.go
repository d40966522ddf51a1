package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/identity"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Media types of Docker's image manifest, version 2, schema 2, which registries still serve. They say the same as
// those of OCI.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
	dockerLayer    = "application/vnd.docker.image.rootfs.diff.tar"
	dockerLayerGz  = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

const (
	// maxJSON bounds manifests, indexes and configs in bytes, as registries do.
	maxJSON = 4 << 20
	// maxLayers bounds the layers of an image; container runtimes take 127 or less.
	maxLayers = 500
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
	if err := readJSON(l, desc, &c.manifest); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	if err := c.checkManifest(); err != nil {
		return nil, fmt.Errorf("manifest %s: %w", desc.Digest, err)
	}
	if err := readJSON(l, c.manifest.Config, &c.config); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if err := c.checkConfig(); err != nil {
		return nil, fmt.Errorf("config %s: %w", c.manifest.Config.Digest, err)
	}
	return c, nil
}

// readJSON reads a blob to its end, by which it is verified.
func readJSON(l *layout.Layout, desc ocispec.Descriptor, into any) error {
	if desc.Size > maxJSON {
		return fmt.Errorf("%s has %d bytes; at most %d are read", desc.Digest, desc.Size, maxJSON)
	}
	r, err := l.Blob(desc)
	if err != nil {
		return err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is no JSON of an image: %w", desc.Digest, err)
	}
	return nil
}

func (c *contents) checkManifest() error {
	m := c.manifest
	if m.SchemaVersion != 2 || m.Config.Digest == "" {
		return errors.New("it is not the manifest of an image (schema version 2)")
	}
	if len(m.Layers) == 0 || len(m.Layers) > maxLayers {
		return fmt.Errorf("it has %d layers; an image has 1 to %d", len(m.Layers), maxLayers)
	}
	for _, blob := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		if err := layout.Check(blob); err != nil {
			return err
		}
	}
	for _, layer := range m.Layers {
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
	return fmt.Errorf("it is for %s and this host is %s/%s; get the image for this platform", platform(p), runtime.GOOS, runtime.GOARCH)
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

// complete refuses an image of which a blob is missing.
func (c *contents) complete(l *layout.Layout) error {
	for _, blob := range append([]ocispec.Descriptor{c.manifest.Config}, c.manifest.Layers...) {
		if has, err := l.Has(blob); err != nil {
			return err
		} else if !has {
			return fmt.Errorf("blob %s: %w", blob.Digest, fs.ErrNotExist)
		}
	}
	return nil
}

// encode writes the JSON of an image. It is the same for the same value: a plain tar has the same digest wherever
// it is imported.
func encode(mediaType string, v any) (ocispec.Descriptor, []byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, nil, err
	}
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data))}, data, nil
}

// readAll reads a small file of JSON from a source.
func readAll(from files, name string) ([]byte, error) {
	r, size, err := from.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxJSON {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", name, size, maxJSON)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = fmt.Errorf("%s is empty", name)
	}
	return data, err
}
