package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// ErrHeld is returned by Sweep while the blobs are held.
var ErrHeld = errors.New("images are being pulled or imported")

// Removable is an unneeded file of the layout.
type Removable struct {
	Path string // absolute
	Size int64  // bytes
}

// Garbage returns the blobs that no image in index.json needs, and the partial files without a writer that were last
// written before partialsBefore.
func (l *Layout) Garbage(ctx context.Context, partialsBefore time.Time) ([]Removable, error) {
	return l.garbage(ctx, partialsBefore, func(string) error { return nil })
}

// Sweep removes what Garbage returns. While there is a Hold, it removes nothing and returns ErrHeld. An image with a
// damaged manifest stops it, as the blobs that it needs are unknown.
func (l *Layout) Sweep(ctx context.Context, partialsBefore time.Time) ([]Removable, error) {
	f, err := os.OpenFile(l.blobs(""), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("image layout: %w", err)
	}
	defer f.Close()
	err = flock.Try(f, flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		err = ErrHeld
	}
	if err != nil {
		return nil, fmt.Errorf("image layout %s: %w", l.dir, err)
	}
	return l.garbage(ctx, partialsBefore, os.Remove)
}

func (l *Layout) garbage(ctx context.Context, before time.Time, do func(path string) error) ([]Removable, error) {
	images, err := l.Images()
	if err != nil {
		return nil, err
	}
	needed := make(map[digest.Digest]bool)
	err = l.walk(images, func(d ocispec.Descriptor) error {
		needed[d.Digest] = true
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("image layout %s: which blobs are needed: %w", l.dir, err)
	}
	var removed []Removable
	remove := func(path string, info fs.FileInfo) error {
		if err := do(path); err != nil {
			return err
		}
		removed = append(removed, Removable{path, info.Size()})
		return ctx.Err()
	}
	err = each(l.blobs(""), func(path string, info fs.FileInfo) error {
		if needed[digest.NewDigestFromEncoded(algorithm, info.Name())] {
			return nil
		}
		return remove(path, info)
	})
	if err == nil {
		err = each(filepath.Join(l.dir, ingestDir), func(path string, info fs.FileInfo) error {
			return ifLeft(path, info, before, remove)
		})
	}
	if err != nil {
		return removed, fmt.Errorf("image layout %s: %w", l.dir, err)
	}
	return removed, nil
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
		children, err := l.Children(desc)
		if err != nil {
			return err
		}
		todo = append(todo, children...)
	}
	return nil
}

// ifLeft calls do for a partial file without a writer, holding its lock.
func ifLeft(path string, info fs.FileInfo, before time.Time, do func(string, fs.FileInfo) error) error {
	if !info.ModTime().Before(before) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	err = flock.Try(f, flock.Exclusive)
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	if named, err := flock.Named(f, path); !named || err != nil {
		return err
	}
	return do(path, info)
}

// each lists the regular files of a directory.
func each(dir string, do func(path string, info fs.FileInfo) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err == nil {
			err = do(filepath.Join(dir, e.Name()), info)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
