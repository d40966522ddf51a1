package image

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Options say how an image gets into the store.
type Options struct {
	Name string
	// Reference is where it was pulled from, for Image.Reference; "" where nobody pulled it.
	Reference string
	// Tag chooses one of several images in an archive or a layout.
	Tag string
	// Progress, where not nil, is told how far blobs have come, by several goroutines.
	Progress func(Progress)
}

// Imported is what an import or a pull did.
type Imported struct {
	Image
	// Unchanged is true where the name stood for this image already, and nothing was to be done.
	Unchanged bool `json:"unchanged"`
	// Repaired is true where the root was damaged and was made anew.
	Repaired bool `json:"repaired"`
	// Replaced is the manifest that the name stood for before; "" where it is new or unchanged.
	Replaced digest.Digest `json:"replaced"`
}

// Add gives a name to the image whose blobs fetch puts into the layout, and whose manifest it returns. The image is
// verified and unpacked before it has the name: one that is hostile or damaged fails here, and the name stays what
// it was. A damaged root of the same image is made anew.
func (s *Store) Add(ctx context.Context, o Options, fetch func(context.Context, *layout.Layout) (ocispec.Descriptor, error)) (Imported, error) {
	if err := CheckName(o.Name); err != nil {
		return Imported{}, err
	}
	// What killed imports left must not take the room of this one. A damaged manifest of another image keeps the
	// roots from being swept, and is no trouble of this one.
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
		_, _ = s.sweepRoots(ctx, false) // what is left is gc's
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
		desc.Annotations[referenceKey] = o.Reference
	}
	c, err := read(s.layout, desc)
	if err != nil {
		return added, err
	}
	root, made, err := s.rootOf(ctx, c, o.Progress)
	if err != nil {
		return added, err
	}
	defer func() { err = errors.Join(err, root.Close()) }() // it may be another after a repair
	if !made {
		if added.Repaired, err = root.heal(ctx); err != nil {
			return added, err
		}
	}
	if err := s.name(&added, o.Name, desc, made); err != nil {
		return added, err
	}
	added.Image, err = s.image(c)
	return added, err
}

// heal repairs a root that is damaged.
func (r *Root) heal(ctx context.Context) (bool, error) {
	err := r.Check(ctx)
	if !errors.Is(err, ErrDamaged) {
		return false, err
	}
	return true, r.repair(ctx)
}

// name gives an image its name, and notes what that stood for before. Made tells that its root was not there.
func (s *Store) name(added *Imported, name string, desc ocispec.Descriptor, made bool) error {
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
	if err := s.layout.Tag(name, desc); err != nil {
		return err
	}
	return nil
}
