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
	"golang.org/x/sys/unix"
)

// The parts of a root's directory.
const (
	treeDir    = "tree"      // the root filesystem itself
	recordFile = "root.json" // record
	sealFile   = "seal"      // what every entry of the tree is
)

// Root is the unpacked root filesystem of an image, in use: nobody exchanges or removes it until it is closed.
type Root struct {
	// Dir is the root filesystem, an absolute path. All may read what is in it; the directories above it are its
	// owner's alone.
	Dir string
	// Digest is that of the root filesystem: of the path, type, mode and contents of all its entries.
	Digest digest.Digest
	// Image is what the root belongs to.
	Image Image
	// Config is what the image says of environment, working directory and entrypoint.
	Config ocispec.ImageConfig

	store    *Store
	contents *contents
	lock     *os.File
}

// Root opens the unpacked root of an image; an unknown name is an *UnknownError. It is cheap, as it reads no more
// than the index, manifest, config and a record: whether the root is still whole is what Check finds out. Only
// where the root is not there it is made of the layers, by one of all that ask for it.
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

// rootOf opens the root of an image, and makes it where it is not there; made tells that.
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

// open opens a root that is there, else the error is fs.ErrNotExist.
func (s *Store) open(ctx context.Context, c *contents) (*Root, error) {
	lock, err := opened(ctx, s.root(c), unix.LOCK_SH)
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

// Close ends the use of the root.
func (r *Root) Close() error { return r.lock.Close() }

// Repair makes a damaged root anew from the layers and exchanges it; it is ErrInUse where others use it. The root
// stays open, as the new one: what was opened below Dir before is of the old one.
func (r *Root) Repair(ctx context.Context) error {
	if err := r.repair(ctx); err != nil {
		return fmt.Errorf("repair image %q: %w", r.Image.Name, err)
	}
	return nil
}

func (r *Root) repair(ctx context.Context) (err error) {
	// The kernel takes our shared lock away before it tries to give the exclusive one (flock(2)).
	alone := flock(r.lock, unix.LOCK_EX|unix.LOCK_NB)
	if alone == nil && named(r.lock, r.lock.Name()) {
		err = r.store.exchange(ctx, r.contents, r.lock)
	} else if alone != nil {
		err = alone
		if errors.Is(alone, unix.EWOULDBLOCK) {
			err = ErrInUse
		}
	}
	again, _, failed := r.store.reopen(ctx, r)
	if failed != nil {
		return errors.Join(err, failed)
	}
	*r = *again
	return err
}

// reopen gives up a root's lock and opens what has its name now.
func (s *Store) reopen(ctx context.Context, r *Root) (*Root, bool, error) {
	if err := r.lock.Close(); err != nil {
		return nil, false, err
	}
	return s.rootOf(ctx, r.contents, nil)
}
