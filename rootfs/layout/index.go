package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
)

// ErrUnknown is returned for an unknown name.
var ErrUnknown = fmt.Errorf("no image has this name: %w", fs.ErrNotExist)

// Bounds of index.json.
const (
	maxIndex  = 16 << 20 // bytes
	maxImages = 10_000
	maxName   = 512 // bytes
)

// checkName refuses an invalid image name. It allows a little more than the image specification for
// org.opencontainers.image.ref.name, so that every registry reference is valid.
func checkName(name string) error {
	const ends = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	inside := strings.Trim(name, ends+"._:@/+-") == ""
	if name == "" || len(name) > maxName || !inside || !strings.Contains(ends, name[:1]) || !strings.Contains(ends, name[len(name)-1:]) {
		return fmt.Errorf("%q cannot be an image's name: up to %d letters, digits and . _ : @ / + - in between are allowed",
			clip(name), maxName)
	}
	return nil
}

// Tag names an image, a manifest or an index, durably, and moves the name if another image has it. All blobs of the image
// must be in the layout, in full size. The descriptor's annotations are kept with the name.
func (l *Layout) Tag(ctx context.Context, name string, desc ocispec.Descriptor) error {
	if err := l.tag(ctx, name, desc); err != nil {
		return fmt.Errorf("name image %q: %w", clip(name), err)
	}
	return nil
}

func (l *Layout) tag(ctx context.Context, name string, desc ocispec.Descriptor) error {
	if err := checkName(name); err != nil {
		return err
	}
	if !isManifest(desc.MediaType) && !IsIndex(desc.MediaType) {
		return fmt.Errorf("a %q is no image", clip(desc.MediaType))
	}
	release, err := l.Hold(ctx) // no Sweep between check and naming
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	err = l.walk([]ocispec.Descriptor{desc}, func(d ocispec.Descriptor) error {
		has, err := l.Has(d)
		if err == nil && !has {
			err = fmt.Errorf("blob %s: %w", d.Digest, fs.ErrNotExist)
		}
		return err
	})
	if err != nil {
		return err
	}
	desc.Annotations = maps.Clone(desc.Annotations)
	if desc.Annotations == nil {
		desc.Annotations = make(map[string]string)
	}
	desc.Annotations[ocispec.AnnotationRefName] = name
	return l.change(func(images []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		return append(without(images, name), desc), nil
	})
}

// Untag removes a name durably. An unknown name is ErrUnknown. The blobs stay until Sweep.
func (l *Layout) Untag(name string) error {
	err := l.change(func(images []ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		left := without(images, name)
		if len(left) == len(images) {
			return nil, ErrUnknown
		}
		return left, nil
	})
	if err != nil {
		return fmt.Errorf("remove image %q: %w", clip(name), err)
	}
	return nil
}

// Resolve returns the image of a name, with Tag's annotations; ErrUnknown if there is none.
func (l *Layout) Resolve(name string) (ocispec.Descriptor, error) {
	images, err := l.Images()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	at := slices.IndexFunc(images, func(d ocispec.Descriptor) bool { return nameOf(d) == name })
	if at < 0 {
		return ocispec.Descriptor{}, fmt.Errorf("image %q: %w", clip(name), ErrUnknown)
	}
	return images[at], nil
}

// Names returns the names of all images, sorted.
func (l *Layout) Names() ([]string, error) {
	images, err := l.Images()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, image := range images {
		if name := nameOf(image); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Images returns the images in index.json: those with names, and those that another tool added without one.
func (l *Layout) Images() ([]ocispec.Descriptor, error) {
	data, err := readBounded(l.index(), maxIndex)
	var index ocispec.Index
	if err == nil {
		index, err = parseIndex(data)
	}
	if err != nil {
		return nil, fmt.Errorf("image layout: %s: %w", l.index(), err)
	}
	return index.Manifests, nil
}

// change rewrites index.json under its lock.
func (l *Layout) change(do func([]ocispec.Descriptor) ([]ocispec.Descriptor, error)) error {
	lock, err := l.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	data, err := readBounded(l.index(), maxIndex)
	if err != nil {
		return err
	}
	index, err := parseIndex(data)
	if err != nil {
		return fmt.Errorf("%s: %w", l.index(), err)
	}
	if index.Manifests, err = do(index.Manifests); err != nil {
		return err
	}
	if data, err = json.Marshal(index); err != nil {
		return err
	}
	if _, err := parseIndex(data); err != nil { // what is written can be read again
		return err
	}
	return replace(l.index(), data)
}

// parseIndex is strict, as the index is rewritten from what it parsed.
func parseIndex(data []byte) (ocispec.Index, error) {
	var index ocispec.Index
	if len(data) > maxIndex {
		return index, fmt.Errorf("it would have %d bytes, more than %d", len(data), maxIndex)
	}
	if err := exactjson.Unmarshal(data, &index); err != nil {
		return index, err
	}
	switch {
	case index.SchemaVersion != 2:
		return index, fmt.Errorf("it has the schema version %d, not 2", index.SchemaVersion)
	case index.MediaType != "" && index.MediaType != ocispec.MediaTypeImageIndex:
		return index, fmt.Errorf("it calls itself a %q", clip(index.MediaType))
	case index.Manifests == nil:
		return index, errors.New("it has no list of manifests")
	case len(index.Manifests) > maxImages:
		return index, fmt.Errorf("it lists %d images, more than %d", len(index.Manifests), maxImages)
	}
	return index, checkImages(index.Manifests)
}

func checkImages(images []ocispec.Descriptor) error {
	seen := make(map[string]bool)
	for _, image := range images {
		if err := Check(image); err != nil {
			return err
		}
		if !isManifest(image.MediaType) && !IsIndex(image.MediaType) {
			return fmt.Errorf("%s: a %q is no image", image.Digest, clip(image.MediaType))
		}
		if image.Size > MaxManifest {
			return fmt.Errorf("%s: a size of %d bytes is more than %d", image.Digest, image.Size, MaxManifest)
		}
		name, named := image.Annotations[ocispec.AnnotationRefName]
		if !named {
			continue
		}
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("two images have the name %q", name)
		}
		seen[name] = true
	}
	return nil
}

func without(images []ocispec.Descriptor, name string) []ocispec.Descriptor {
	return slices.DeleteFunc(slices.Clone(images), func(d ocispec.Descriptor) bool { return nameOf(d) == name })
}

func nameOf(d ocispec.Descriptor) string { return d.Annotations[ocispec.AnnotationRefName] }
