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

// newSuffix ends the name of a root being made, or of an exchanged one.
const newSuffix = ".new"

// partialAge is how long partial files are kept to be resumed.
const partialAge = 24 * time.Hour

// Swept is the result of a Sweep.
type Swept struct {
	Removed []string // paths
	Bytes   int64    // of the removed blobs and partial files
	InUse   []string // roots without a name that runs are using
}

func (s Swept) used(root string) bool { return slices.Contains(s.InUse, root) }

// Sweep removes what no name leads to: unused roots, blobs, leftovers of killed imports, and partial files a day old.
// While images are pulled or imported, blobs stay. With dry, it only reports.
func (s *Store) Sweep(ctx context.Context, dry bool) (Swept, error) {
	swept, err := s.sweepRoots(ctx, dry)
	if err != nil {
		return swept, fmt.Errorf("images: %w", err)
	}
	gone, err := s.layout.Sweep(ctx, time.Now().Add(-partialAge), dry)
	if errors.Is(err, layout.ErrHeld) {
		err = nil
	}
	for _, one := range gone {
		swept.Removed = append(swept.Removed, one.Path)
		swept.Bytes += one.Size
	}
	return swept, err
}

// sweepRoots removes unnamed roots, and those whose maker was killed.
func (s *Store) sweepRoots(ctx context.Context, dry bool) (Swept, error) {
	var swept Swept
	// Read the roots first: one named later is locked by the process that names it.
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

// needed returns the roots of all names. If one's manifest is damaged, its root is unknown, and so none may be removed.
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

// remove removes the directory of an unused root.
func remove(ctx context.Context, path string, dry bool) error {
	f, err := lockUnused(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if dry {
		return nil
	}
	return discard(ctx, f)
}

// discard removes a directory that the caller has locked, however deep its contents are.
func discard(ctx context.Context, f *os.File) error {
	if err := outputs.Empty(ctx, f); err != nil {
		return fmt.Errorf("remove %s: %w", f.Name(), err)
	}
	return os.Remove(f.Name())
}
