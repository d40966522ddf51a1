package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// newSuffix ends the name of a root that is being made, or that has been exchanged for another.
const newSuffix = ".new"

// partialAge is how long what a pull left waits to be gone on with.
const partialAge = 24 * time.Hour

// Swept is what a Sweep did, or would do.
type Swept struct {
	Removed []string // paths
	Bytes   int64    // of the removed blobs and partial files
	InUse   []string // roots without a name that runs are using
	// Busy is true where blobs were left alone, as images are being pulled or imported.
	Busy bool
}

func (s Swept) used(root string) bool { return slices.Contains(s.InUse, root) }

// Sweep removes what no name leads to: roots that nobody uses, blobs, what killed imports left, and partial files
// a day old. Dry, it only tells.
func (s *Store) Sweep(ctx context.Context, dry bool) (Swept, error) {
	swept, err := s.sweepRoots(ctx, dry)
	if err != nil {
		return swept, fmt.Errorf("images: %w", err)
	}
	clean := s.layout.Sweep
	if dry {
		clean = s.layout.Garbage
	}
	gone, err := clean(ctx, time.Now().Add(-partialAge))
	if errors.Is(err, layout.ErrHeld) {
		swept.Busy = true
		err = nil
	}
	for _, one := range gone {
		swept.Removed = append(swept.Removed, one.Path)
		swept.Bytes += one.Size
	}
	return swept, err
}

// sweepRoots removes the roots that no name leads to, and those that were being made when their maker was killed.
func (s *Store) sweepRoots(ctx context.Context, dry bool) (Swept, error) {
	var swept Swept
	// The roots come first: what gets a name after this look has its lock held by who gives it.
	entries, err := os.ReadDir(s.roots)
	if err != nil {
		return swept, err
	}
	needed, err := s.needed()
	if err != nil {
		return swept, err
	}
	for _, entry := range entries {
		path := filepath.Join(s.roots, entry.Name())
		if !entry.IsDir() || needed[path] {
			continue
		}
		switch err := remove(ctx, path, dry); {
		case errors.Is(err, ErrInUse):
			if !strings.HasSuffix(path, newSuffix) {
				swept.InUse = append(swept.InUse, path)
			}
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return swept, err
		default:
			swept.Removed = append(swept.Removed, path)
		}
	}
	return swept, nil
}

// needed are the roots of all names. Where the manifest of one is damaged nobody knows which root it has, and so
// none may go.
func (s *Store) needed() (map[string]bool, error) {
	images, err := s.layout.Images()
	if err != nil {
		return nil, err
	}
	needed := make(map[string]bool)
	for _, desc := range images {
		c, err := read(s.layout, desc)
		if err != nil {
			return nil, err
		}
		needed[s.root(c)] = true
	}
	return needed, nil
}

// remove removes the directory of a root that nobody uses.
func remove(ctx context.Context, path string, dry bool) error {
	f, err := idle(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if dry {
		return nil
	}
	return discard(ctx, f)
}

// discard removes a directory whose lock the caller has, at whatever depth its contents are.
func discard(ctx context.Context, f *os.File) error {
	if err := outputs.Empty(ctx, f); err != nil {
		return fmt.Errorf("remove %s: %w", f.Name(), err)
	}
	return os.Remove(f.Name())
}
