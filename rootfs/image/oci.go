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

// maxIndexes bounds the nesting of indexes.
const maxIndexes = 4

// ociSource is an OCI image layout, in a directory or an archive (image-layout.md).
type ociSource struct {
	files files
	tag   string // selects an image; "" if it is the only one
}

// fetch copies one image and returns its manifest.
func (s ociSource) fetch(ctx context.Context, to *layout.Layout, tell func(Progress)) (ocispec.Descriptor, error) {
	desc, err := s.choose()
	if err != nil {
		return desc, err
	}
	// A layout's other fields of a manifest are about the layout: its names for it.
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
		if err := s.copy(ctx, to, blob, tell); err != nil {
			return desc, err
		}
	}
	return desc, to.Put(ctx, desc, bytes.NewReader(data))
}

// checkMarker refuses another layout version. No layout at all is fs.ErrNotExist.
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

// choose returns the selected image.
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

// inside is an index's image for this machine's platform.
func (s ociSource) inside(desc ocispec.Descriptor) (ocispec.Descriptor, error) {
	data, err := s.json(desc)
	if err != nil {
		return desc, err
	}
	index, err := layout.ParseIndex(desc.MediaType, data)
	if err != nil {
		return desc, err
	}
	return layout.Choose(index.Manifests, host)
}

// json reads and verifies a JSON blob.
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

// missing explains a missing blob.
func missing(desc ocispec.Descriptor, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("blob %s is missing; the image is not complete", desc.Digest)
	}
	return fmt.Errorf("blob %s: %w", desc.Digest, err)
}

func blobPath(desc ocispec.Descriptor) string {
	return path.Join(ocispec.ImageBlobsDir, desc.Digest.Algorithm().String(), desc.Digest.Encoded())
}

// copy copies and verifies a blob.
func (s ociSource) copy(ctx context.Context, to *layout.Layout, desc ocispec.Descriptor, tell func(Progress)) error {
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
	return to.Put(ctx, desc, watched(r, Progress{Phase: Copying, Digest: desc.Digest, Total: desc.Size}, tell))
}

// named is the image with the tag, the only one, or the one for this machine's platform if there is no other name.
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
	return layout.Choose(found, host)
}

// listed joins the first names.
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
