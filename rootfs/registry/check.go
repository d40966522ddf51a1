package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Media types of an image's parts, OCI's and Docker's.
var (
	manifestTypes = []string{
		ocispec.MediaTypeImageIndex, ocispec.MediaTypeImageManifest,
		layout.MediaTypeDockerManifestList, layout.MediaTypeDockerManifest,
	}
	configTypes = []string{ocispec.MediaTypeImageConfig, "application/vnd.docker.container.image.v1+json"}
	layerTypes  = []string{
		ocispec.MediaTypeImageLayer, ocispec.MediaTypeImageLayerGzip, ocispec.MediaTypeImageLayerZstd,
		"application/vnd.docker.image.rootfs.diff.tar", "application/vnd.docker.image.rootfs.diff.tar.gzip",
		"application/vnd.docker.image.rootfs.diff.tar.zstd",
	}
)

// ocispecKey identifies a descriptor's blob.
type ocispecKey struct {
	digest digest.Digest
	size   int64
}

// checkManifest refuses a descriptor of no possible manifest before the download.
func checkManifest(desc ocispec.Descriptor) error {
	if err := layout.Check(desc); err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(desc.MediaType, "application/vnd.docker.distribution.manifest.v1+"):
		return errors.New("the image is of Docker's schema 1, which is too old to be verified; it must be pushed again")
	case !slices.Contains(manifestTypes, desc.MediaType):
		return fmt.Errorf("a %q is no image", desc.MediaType)
	case desc.Size > layout.MaxManifest:
		return fmt.Errorf("manifest %s has %d bytes; at most %d are allowed", desc.Digest, desc.Size, layout.MaxManifest)
	}
	return nil
}

// check refuses an image before any of its blobs is downloaded.
func (p *puller) check(m ocispec.Manifest) error {
	if !slices.Contains(configTypes, m.Config.MediaType) {
		return fmt.Errorf("it is no image to be run: its config is a %q", m.Config.MediaType)
	}
	if m.Config.Size > layout.MaxManifest {
		return fmt.Errorf("its config has %d bytes; at most %d are allowed", m.Config.Size, layout.MaxManifest)
	}
	var sum int64
	for _, layer := range m.Layers {
		if err := checkLayer(layer); err != nil {
			return fmt.Errorf("layer %s: %w", layer.Digest, err)
		}
		sum += layer.Size
		if sum > maxBytes {
			return fmt.Errorf("its layers have more than the %d bytes that are allowed", int64(maxBytes))
		}
	}
	return nil
}

// checkLayer refuses layers with URLs: a client that follows a manifest's URL contacts arbitrary hosts (CVE-2020-15157).
func checkLayer(layer ocispec.Descriptor) error {
	foreign := strings.Contains(layer.MediaType, ".nondistributable.") || strings.Contains(layer.MediaType, ".foreign.")
	if foreign || len(layer.URLs) > 0 {
		return errors.New("it lies on another server and not in the registry, which is not supported")
	}
	if !slices.Contains(layerTypes, layer.MediaType) {
		return fmt.Errorf("a %q is no layer that can be unpacked", layer.MediaType)
	}
	return nil
}

// checkConfig refuses an image of another platform, or with a config that contradicts its manifest.
func checkConfig(data []byte, layers int) error {
	var config ocispec.Image
	if err := json.Unmarshal(data, &config); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	want := machine()
	if config.OS != want.OS || config.Architecture != want.Architecture {
		return fmt.Errorf("the image is for %s; this machine needs %s", layout.PlatformName(config.Platform), layout.PlatformName(want))
	}
	if config.RootFS.Type != "layers" || len(config.RootFS.DiffIDs) != layers {
		return fmt.Errorf("config: it describes %d layers of type %q, the manifest %d", len(config.RootFS.DiffIDs), config.RootFS.Type, layers)
	}
	return nil
}
