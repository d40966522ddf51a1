package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// dockerIndexFile lists the images of a "docker save" archive.
const dockerIndexFile = "manifest.json"

// dockerSource is an archive of "docker save" or "podman save". Its image gets an OCI manifest.
type dockerSource struct {
	files files
	tag   string
}

// dockerImage is an element of manifest.json.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (s dockerSource) fetch(ctx context.Context, to *layout.Layout, tell func(Progress)) (ocispec.Descriptor, error) {
	chosen, err := s.choose()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	text, err := readAll(s.files, chosen.Config)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("config: %w", err)
	}
	var config ocispec.Image
	if err := json.Unmarshal(text, &config); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("config %s: %w", chosen.Config, err)
	}
	if err := checkPlatform(config.Platform); err != nil { // before copying layers in vain
		return ocispec.Descriptor{}, err
	}
	if len(config.RootFS.DiffIDs) != len(chosen.Layers) {
		return ocispec.Descriptor{}, fmt.Errorf("%s names %d layers and the config %d",
			dockerIndexFile, len(chosen.Layers), len(config.RootFS.DiffIDs))
	}
	manifest := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest}
	manifest.Config = ocispec.Descriptor{MediaType: ocispec.MediaTypeImageConfig, Digest: digest.FromBytes(text), Size: int64(len(text))}
	if err := to.Put(ctx, manifest.Config, bytes.NewReader(text)); err != nil {
		return ocispec.Descriptor{}, err
	}
	for i, name := range chosen.Layers {
		layer, err := s.layer(ctx, to, name, config.RootFS.DiffIDs[i], tell)
		if err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("layer %s: %w", name, err)
		}
		manifest.Layers = append(manifest.Layers, layer)
	}
	return putJSON(ctx, to, ocispec.MediaTypeImageManifest, manifest)
}

// choose returns the selected image.
func (s dockerSource) choose() (dockerImage, error) {
	data, err := readAll(s.files, dockerIndexFile)
	if err != nil {
		return dockerImage{}, err
	}
	var all []dockerImage
	if err := json.Unmarshal(data, &all); err != nil {
		return dockerImage{}, fmt.Errorf("%s: %w", dockerIndexFile, err)
	}
	var names []string
	var found []dockerImage
	for _, one := range all {
		names = append(names, one.RepoTags...)
		if s.tag == "" || slices.ContainsFunc(one.RepoTags, func(name string) bool { return isTag(name, s.tag) }) {
			found = append(found, one)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return dockerImage{}, errors.New("no image is in it")
	case s.tag != "":
		return dockerImage{}, fmt.Errorf("%d images %q are in it; it has %s", len(found), s.tag, listed(names))
	}
	return dockerImage{}, fmt.Errorf("%d images are in it; choose one by --tag: %s", len(all), listed(names))
}

// layer copies a layer as stored, usually uncompressed: then its digest is its diff id.
func (s dockerSource) layer(ctx context.Context, to *layout.Layout, name string, diffID digest.Digest, tell func(Progress)) (ocispec.Descriptor, error) {
	desc := ocispec.Descriptor{Digest: diffID}
	kind, size, err := s.look(name)
	if err != nil {
		return desc, err
	}
	desc.MediaType, desc.Size = kind.mediaType(), size
	if err := layout.Check(desc); err != nil {
		return desc, err
	}
	if kind != plainTar {
		if desc.Digest, err = s.sum(name); err != nil {
			return desc, err
		}
	}
	r, _, err := s.files.open(name)
	if err != nil {
		return desc, err
	}
	defer r.Close()
	return desc, to.Put(ctx, desc, watched(r, Progress{Phase: Copying, Digest: desc.Digest, Total: size}, tell))
}

func (s dockerSource) look(name string) (compression, int64, error) {
	r, size, err := s.files.open(name)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	return sniff(head[:n]), size, nil
}

func (s dockerSource) sum(name string) (digest.Digest, error) {
	r, _, err := s.files.open(name)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return digest.SHA256.FromReader(r)
}
