package image

import (
	"context"
	"errors"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Options of adding an image to the store.
type Options struct {
	Name string
	// Reference is where it was pulled from, for Image.Reference, which appends the manifest's digest if there is none;
	// "" if it was not pulled.
	Reference string
	// Tag selects one of several images in an archive or a layout.
	Tag string
	// Progress, if not nil, receives the progress of blobs, concurrently.
	Progress func(Progress)
}

// Imported is the result of Add or Import.
type Imported struct {
	Image
	// Unchanged says that the name was this image's already, and nothing was done.
	Unchanged bool `json:"unchanged"`
	// Repaired says that a damaged root was made again.
	Repaired bool `json:"repaired"`
	// Replaced is the name's previous manifest; "" if it is new or unchanged.
	Replaced digest.Digest `json:"replaced"`
}

// Add names the image whose blobs fetch puts into the layout, and whose manifest it returns. The image is verified and
// unpacked before it is named: a hostile or damaged one fails here, and the name is unchanged. A damaged root of the same
// image is made again.
func (s *Store) Add(ctx context.Context, o Options, fetch func(context.Context, *layout.Layout) (ocispec.Descriptor, error)) (Imported, error) {
	if err := CheckName(o.Name); err != nil {
		return Imported{}, err
	}
	// The leftovers of killed imports must not use this one's space. A damaged manifest of another image prevents a sweep
	// of roots, but is not this one's problem.
	_, _ = s.sweepRoots(ctx, false)
	release, err := s.layout.Hold(ctx)
	if err != nil {
		return Imported{}, err
	}
	added, err := s.add(ctx, o, fetch)
	if err := errors.Join(err, release()); err != nil {
		return Imported{}, err
	}
	if added.Replaced != "" {
		_, _ = s.sweepRoots(ctx, false) // gc removes the rest
	}
	return added, nil
}

func (s *Store) add(ctx context.Context, o Options, fetch func(context.Context, *layout.Layout) (ocispec.Descriptor, error)) (added Imported, err error) {
	desc, err := fetch(ctx, s.layout)
	if err != nil {
		return added, err
	}
	desc = ocispec.Descriptor{MediaType: desc.MediaType, Digest: desc.Digest, Size: desc.Size}
	desc.Annotations = map[string]string{ocispec.AnnotationRefName: o.Name}
	if o.Reference != "" {
		desc.Annotations[referenceKey] = pinned(o.Reference, desc.Digest)
	}
	c, err := read(s.layout, desc)
	if err != nil {
		return added, err
	}
	root, made, err := s.rootOf(ctx, c, o.Progress)
	if err != nil {
		return added, err
	}
	defer func() { err = errors.Join(err, root.Close()) }() // a repair may replace it
	if !made {
		if added.Repaired, err = root.repairIfDamaged(ctx); err != nil {
			return added, err
		}
	}
	if err := s.name(ctx, &added, o.Name, desc, made); err != nil {
		return added, err
	}
	added.Image, err = s.image(c)
	return added, err
}

// pinned returns a reference to exactly this manifest.
func pinned(reference string, manifest digest.Digest) string {
	if strings.Contains(reference, "@") {
		return reference
	}
	return reference + "@" + manifest.String()
}

// repairIfDamaged repairs a damaged root.
func (r *Root) repairIfDamaged(ctx context.Context) (bool, error) {
	err := r.Check(ctx)
	if !errors.Is(err, ErrDamaged) {
		return false, err
	}
	return true, r.repair(ctx)
}

// name names an image, and records the previous one. made says that its root was missing.
func (s *Store) name(ctx context.Context, added *Imported, name string, desc ocispec.Descriptor, made bool) error {
	before, err := s.layout.Resolve(name)
	switch {
	case errors.Is(err, layout.ErrUnknown):
	case err != nil:
		return err
	case before.Digest != desc.Digest:
		added.Replaced = before.Digest
	case before.Annotations[referenceKey] == desc.Annotations[referenceKey]:
		added.Repaired = added.Repaired || made
		added.Unchanged = !added.Repaired
		return nil
	}
	return s.layout.Tag(ctx, name, desc)
}
