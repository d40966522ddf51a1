package command

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/plan"
)

// OpenImages opens the images of the root, and creates their directory if missing.
func OpenImages(p *Program) (*image.Store, error) {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return nil, stores.CannotMake(s.Root, err)
	}
	return image.Open(filepath.Join(s.Root, plan.ImagesDir))
}

// SweepImages removes what no image below root needs, and returns the paths. With dry it removes nothing.
func SweepImages(ctx context.Context, root string, dry bool) ([]string, error) {
	dir := filepath.Join(root, plan.ImagesDir)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := image.Open(dir)
	if err != nil {
		return nil, err
	}
	swept, err := s.Sweep(ctx, dry)
	return swept.Removed, err
}

// ImageNames are the names of the images of the root.
func ImageNames(p *Program) ([]string, error) {
	s, err := OpenImages(p)
	if err != nil {
		return nil, err
	}
	list, unread := s.List()
	var names []string
	for _, one := range list {
		names = append(names, one.Name)
	}
	return names, unread
}
