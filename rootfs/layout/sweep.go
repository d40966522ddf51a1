package layout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// ErrHeld is returned by Sweep while the blobs are held.
var ErrHeld = errors.New("images are being pulled or imported")

// Removable is an unneeded blob or partial file of the layout.
type Removable struct {
	Path string // absolute
	Size int64  // bytes
}

// Sweep removes the blobs that no image in index.json needs, and the partial files without a writer that were last
// written before partialsBefore. While there is a Hold, it removes nothing and returns ErrHeld. An image with a damaged
// manifest stops it, as the blobs that it needs are unknown. With dry it only returns what could be removed, also while there
// is a Hold.
func (l *Layout) Sweep(ctx context.Context, partialsBefore time.Time, dry bool) ([]Removable, error) {
	removed, err := l.sweep(ctx, partialsBefore, dry)
	if err != nil {
		return removed, fmt.Errorf("image layout %s: %w", l.Dir(), err)
	}
	return removed, nil
}

func (l *Layout) sweep(ctx context.Context, partialsBefore time.Time, dry bool) (removed []Removable, err error) {
	if !dry {
		release, err := l.blobs.TrySweep()
		if errors.Is(err, flock.ErrHeld) {
			return nil, ErrHeld
		}
		if err != nil {
			return nil, err
		}
		defer func() { _ = release() }()
	}
	needed, err := l.needed(ctx)
	if err != nil {
		return nil, fmt.Errorf("which blobs are needed: %w", err)
	}
	var failed error
	err = l.blobs.Walk(needed, func(f cas.Found) bool {
		path, err := l.blobs.Path(f.SHA256)
		if err == nil && !dry {
			err = l.blobs.Remove(f.SHA256)
		}
		if err == nil {
			removed = append(removed, Removable{path, f.Size})
			err = ctx.Err()
		}
		failed = err
		return err == nil
	})
	if err := errors.Join(err, failed); err != nil {
		return removed, err
	}
	partials, err := l.sweepPartials(partialsBefore, dry)
	return append(removed, partials...), err
}

// needed reports the digests that images need.
func (l *Layout) needed(ctx context.Context) (func(sha256 string) bool, error) {
	images, err := l.Images()
	if err != nil {
		return nil, err
	}
	needed := make(map[string]bool)
	err = l.walk(images, func(d ocispec.Descriptor) error {
		needed[d.Digest.Encoded()] = true
		return ctx.Err()
	})
	return func(sha256 string) bool { return needed[sha256] }, err
}

func (l *Layout) sweepPartials(before time.Time, dry bool) (removed []Removable, err error) {
	sizes := make(map[string]int64)
	spare := func(name string) bool {
		path := filepath.Join(l.blobs.Ingests(), name)
		info, err := os.Lstat(filepath.Join(path, partialFile))
		if err != nil {
			info, err = os.Lstat(path) // it is empty, or the partial file of an earlier version
		}
		if err != nil || !info.ModTime().Before(before) {
			return true
		}
		if info.Mode().IsRegular() {
			sizes[path] = info.Size()
		}
		return false
	}
	clean := l.blobs.CleanIngests
	if dry {
		clean = l.blobs.DeadIngests
	}
	dead, _, err := clean(spare)
	for _, path := range dead {
		removed = append(removed, Removable{path, sizes[path]})
	}
	return removed, err
}

// walk visits descriptors and all that they refer to, each digest once.
func (l *Layout) walk(todo []ocispec.Descriptor, visit func(ocispec.Descriptor) error) error {
	// By media type too: another image may list a manifest as a layer.
	seen := make(map[string]bool)
	for len(todo) > 0 {
		desc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if key := desc.MediaType + " " + desc.Digest.String(); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		if err := visit(desc); err != nil {
			return err
		}
		children, err := l.children(desc)
		if err != nil {
			return err
		}
		todo = append(todo, children...)
	}
	return nil
}
