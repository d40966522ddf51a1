package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// maxIndexes bounds how deep an index may hold indexes.
const maxIndexes = 4

// ociSource is an OCI image layout, in a directory or an archive (image-layout.md).
type ociSource struct {
	files files
	tag   string // which of its images; "" where there is one
}

// fetch copies one image and returns its manifest.
func (s ociSource) fetch(ctx context.Context, to *layout.Layout, progress func(Progress)) (ocispec.Descriptor, error) {
	desc, err := s.choose()
	if err != nil {
		return desc, err
	}
	// What a layout says of a manifest beyond these three is about the layout: its names for it.
	desc = ocispec.Descriptor{MediaType: desc.MediaType, Digest: desc.Digest, Size: desc.Size}
	data, err := s.json(desc)
	if err != nil {
		return desc, err
	}
	manifest, err := layout.ParseManifest(desc.MediaType, data)
	if err != nil {
		return desc, err
	}
	blobs := append([]ocispec.Descriptor{manifest.Config}, manifest.Layers...)
	for _, blob := range blobs {
		if err := s.copy(ctx, to, blob, progress); err != nil {
			return desc, err
		}
	}
	return desc, to.Put(ctx, desc, bytes.NewReader(data))
}

// checkMarker refuses a layout of another version than ours. One that is none is fs.ErrNotExist.
func (s ociSource) checkMarker() error {
	data, err := readAll(s.files, ocispec.ImageLayoutFile)
	if err != nil {
		return err
	}
	var found ocispec.ImageLayout
	if err := json.Unmarshal(data, &found); err != nil {
		return fmt.Errorf("%s: %w", ocispec.ImageLayoutFile, err)
	}
	if found.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("it is an OCI image layout of the version %q; %q can be read", found.Version, ocispec.ImageLayoutVersion)
	}
	return nil
}

// choose finds the one image that is meant.
func (s ociSource) choose() (ocispec.Descriptor, error) {
	data, err := readAll(s.files, ocispec.ImageIndexFile)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("%s: %w", ocispec.ImageIndexFile, err)
	}
	desc, err := s.named(index.Manifests)
	for depth := 0; err == nil && layout.IsIndex(desc.MediaType); depth++ {
		if depth == maxIndexes {
			return desc, fmt.Errorf("index %s: indexes lie in it more than %d deep", desc.Digest, maxIndexes)
		}
		desc, err = s.inside(desc)
	}
	return desc, err
}

// inside is the image for our platform in an index.
func (s ociSource) inside(desc ocispec.Descriptor) (ocispec.Descriptor, error) {
	data, err := s.json(desc)
	if err != nil {
		return desc, err
	}
	index, err := layout.ParseIndex(desc.MediaType, data)
	if err != nil {
		return desc, err
	}
	return forUs(index.Manifests)
}

// json reads a blob of JSON, whose digest is verified.
func (s ociSource) json(desc ocispec.Descriptor) ([]byte, error) {
	if err := layout.Check(desc); err != nil {
		return nil, err
	}
	data, err := readAll(s.files, blobPath(desc))
	if err != nil {
		return nil, missing(desc, err)
	}
	if got := desc.Digest.Algorithm().FromBytes(data); got != desc.Digest || int64(len(data)) != desc.Size {
		return nil, fmt.Errorf("blob %s is damaged: its %d bytes have the digest %s", desc.Digest, len(data), got)
	}
	return data, nil
}

// missing says what it means that a blob is not there.
func missing(desc ocispec.Descriptor, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %s is missing; the image is not complete", desc.Digest)
	}
	return fmt.Errorf("blob %s: %w", desc.Digest, err)
}

func blobPath(desc ocispec.Descriptor) string {
	return path.Join(ocispec.ImageBlobsDir, desc.Digest.Algorithm().String(), desc.Digest.Encoded())
}

// copy verifies a blob while it is copied.
func (s ociSource) copy(ctx context.Context, to *layout.Layout, desc ocispec.Descriptor, progress func(Progress)) error {
	if err := layout.Check(desc); err != nil {
		return err
	}
	r, size, err := s.files.open(blobPath(desc))
	if err != nil {
		return missing(desc, err)
	}
	defer r.Close()
	if size != desc.Size {
		return fmt.Errorf("blob %s has %d bytes and not the %d of its descriptor", desc.Digest, size, desc.Size)
	}
	return to.Put(ctx, desc, watched(r, Progress{Phase: Copying, Digest: desc.Digest, Total: desc.Size}, progress))
}

// named is the image that a tag names, the only one, or the one for our platform where no other name is there.
func (s ociSource) named(all []ocispec.Descriptor) (ocispec.Descriptor, error) {
	var names []string
	var found []ocispec.Descriptor
	for _, desc := range all {
		name := desc.Annotations[ocispec.AnnotationRefName]
		if s.tag == "" || isTag(name, s.tag) {
			found = append(found, desc)
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(all) == 0:
		return ocispec.Descriptor{}, errors.New("no image is in it")
	case len(found) == 0:
		return ocispec.Descriptor{}, fmt.Errorf("no image %q is in it; it has %s", s.tag, listed(names))
	case s.tag == "" && len(names) > 1:
		return ocispec.Descriptor{}, fmt.Errorf("%d images are in it; choose one by --tag: %s", len(all), listed(names))
	}
	return forUs(found)
}

// listed are the first of some names.
func listed(names []string) string {
	const shown = 10
	if len(names) == 0 {
		return "no name"
	}
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// forUs is the first image for our platform. One that tells none is taken where it is alone: its config will tell.
func forUs(all []ocispec.Descriptor) (ocispec.Descriptor, error) {
	var others []string
	for _, desc := range all {
		if desc.Platform == nil {
			if len(all) == 1 {
				return desc, nil
			}
			continue
		}
		if ours(*desc.Platform) == nil {
			return desc, nil
		}
		others = append(others, platform(*desc.Platform))
	}
	return ocispec.Descriptor{}, foreign(listed(others))
}
