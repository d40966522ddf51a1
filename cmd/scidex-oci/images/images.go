// Package images opens the images of the root that the global options name.
package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/rootfs/image"
	"github.com/scidex-ai/scidex-oci/runner/plan"
)

// Open opens the images of the root, and creates their directory if missing.
func Open(p *command.Program) (*image.Store, error) {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Root, 0o700); err != nil {
		return nil, fmt.Errorf("%w; give another place with --root DIR", err)
	}
	return image.Open(filepath.Join(s.Root, plan.ImagesDir))
}

// Sweep removes what no image below root needs, and returns the paths. With dry it removes nothing.
func Sweep(ctx context.Context, root string, dry bool) ([]string, error) {
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

// Names are the names of the images of the root.
func Names(p *command.Program) ([]string, error) {
	s, err := Open(p)
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
