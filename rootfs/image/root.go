package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// Parts of a root's directory.
const (
	treeDir    = "tree"      // the root filesystem itself
	recordFile = "root.json" // record
	sealFile   = "seal"      // record of all entries in tree
)

// Root is an image's unpacked root filesystem, in use: it is not exchanged or removed until it is closed.
type Root struct {
	// Dir is the root filesystem, an absolute path. All users may read its contents, but only the owner the directories
	// above.
	Dir string
	// Digest is the root filesystem's: of the path, type, mode and contents of all its entries.
	Digest digest.Digest
	// Image is the root's image.
	Image Image
	// Config is the image's environment, working directory and entrypoint.
	Config ocispec.ImageConfig

	store    *Store
	contents *contents
	lock     *os.File
}

// Root opens an image's unpacked root; an unknown name is an *UnknownError. It is cheap: it reads only the index,
// manifest, config and a record. Check verifies the root. A missing root is made from the layers, by one of the
// concurrent callers.
func (s *Store) Root(ctx context.Context, name string) (*Root, error) {
	c, err := s.resolve(name)
	if err != nil {
		return nil, err
	}
	r, _, err := s.rootOf(ctx, c, nil)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", name, err)
	}
	return r, nil
}

// rootOf opens an image's root, and makes a missing one; made reports that.
func (s *Store) rootOf(ctx context.Context, c *contents, tell func(Progress)) (r *Root, made bool, err error) {
	for {
		r, err := s.open(ctx, c)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, made, err
		}
		if err := s.make(ctx, c, tell); err != nil {
			return nil, false, err
		}
		made = true
	}
}

// open opens an existing root, else the error is fs.ErrNotExist.
func (s *Store) open(ctx context.Context, c *contents) (*Root, error) {
	lock, err := opened(ctx, s.root(c), flock.Shared)
	if err != nil {
		return nil, err
	}
	about, err := readRecord(lock.Name())
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	one, err := s.image(c)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Root{
		Dir: filepath.Join(lock.Name(), treeDir), Digest: about.Digest, Image: one, Config: c.config.Config,
		store: s, contents: c, lock: lock,
	}, nil
}

// Close ends the root's use.
func (r *Root) Close() error { return r.lock.Close() }

// Repair makes a damaged root again from the layers and exchanges it; it is ErrInUse if others use it. The root stays
// open, as the new one: files opened below Dir before belong to the old one.
func (r *Root) Repair(ctx context.Context) error {
	if err := r.repair(ctx); err != nil {
		return fmt.Errorf("repair image %q: %w", r.Image.Name, err)
	}
	return nil
}

func (r *Root) repair(ctx context.Context) (err error) {
	err = flock.Try(r.lock, flock.Exclusive) // which drops the shared lock
	named := false
	if err == nil {
		named, err = flock.Named(r.lock, r.lock.Name())
	}
	switch {
	case errors.Is(err, flock.ErrHeld):
		err = ErrInUse
	case named:
		err = r.store.exchange(ctx, r.contents, r.lock)
	}
	again, _, failed := r.store.reopen(ctx, r)
	if failed != nil {
		return errors.Join(err, failed)
	}
	*r = *again
	return err
}

// reopen unlocks a root and opens the one that has its name.
func (s *Store) reopen(ctx context.Context, r *Root) (*Root, bool, error) {
	if err := r.lock.Close(); err != nil {
		return nil, false, err
	}
	return s.rootOf(ctx, r.contents, nil)
}
