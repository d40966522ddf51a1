package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// make unpacks an image into its root, unless another process has just done it.
func (s *Store) make(ctx context.Context, c *contents, tell func(Progress)) error {
	return s.inNewRoot(ctx, c, func(fresh *os.File) error {
		_, err := readRecord(s.root(c))
		switch {
		case err == nil:
			return discard(ctx, fresh) // another process did it
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		if err := s.build(ctx, c, fresh, tell); err != nil {
			return err
		}
		// A root without a valid record, from another version of this program, is exchanged.
		old, err := lockUnused(s.root(c))
		if errors.Is(err, fs.ErrNotExist) {
			return os.Rename(fresh.Name(), s.root(c))
		}
		if err != nil {
			return err
		}
		defer old.Close()
		return swap(ctx, old, fresh)
	})
}

// exchange unpacks an image again and replaces a root with an exclusive lock.
func (s *Store) exchange(ctx context.Context, c *contents, old *os.File) error {
	return s.inNewRoot(ctx, c, func(fresh *os.File) error {
		if err := s.build(ctx, c, fresh, nil); err != nil {
			return err
		}
		return swap(ctx, old, fresh)
	})
}

// inNewRoot calls do with an empty directory for an image's root, one caller at a time. If do fails, it removes the
// directory.
func (s *Store) inNewRoot(ctx context.Context, c *contents, do func(fresh *os.File) error) error {
	release, err := s.layout.Hold(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = release() }() // only held for reading
	fresh, err := flock.MakeDir(ctx, s.root(c)+newSuffix)
	if err != nil {
		return err
	}
	defer fresh.Close()
	err = outputs.Empty(ctx, fresh) // a killed process may have left files
	if err == nil {
		err = do(fresh)
	}
	if err != nil {
		return errors.Join(err, discard(context.WithoutCancel(ctx), fresh))
	}
	return nil
}

// swap exchanges a root for another and removes the old one. The caller has locked both.
func swap(ctx context.Context, old, fresh *os.File) error {
	if err := unix.Renameat2(unix.AT_FDCWD, fresh.Name(), unix.AT_FDCWD, old.Name(), unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("exchange %s: %w", old.Name(), err)
	}
	// The old one now has the temporary name; if it is not removed here, Sweep does.
	if outputs.Empty(ctx, old) == nil {
		_ = os.Remove(fresh.Name())
	}
	return nil
}

// build makes an image's tree, seal and record in an empty directory.
func (s *Store) build(ctx context.Context, c *contents, fresh *os.File, tell func(Progress)) error {
	dir := filepath.Join(fresh.Name(), treeDir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // despite the umask
		return err
	}
	tree, err := openDir(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	root, err := unpack.Image(ctx, tree, s.layers(c, tell), unpack.DefaultBounds())
	if err != nil {
		return s.corrupt(ctx, c, err)
	}
	return finish(ctx, tree, root)
}

// layers returns an image's layers, lowest first, with verifying readers.
func (s *Store) layers(c *contents, tell func(Progress)) []unpack.Source {
	var all []unpack.Source
	for i, desc := range c.manifest.Layers {
		open := func() (io.ReadCloser, error) {
			r, err := s.layout.Blob(desc)
			if err != nil {
				return nil, err
			}
			told := watched(r, Progress{Phase: Unpacking, Digest: desc.Digest, Total: desc.Size}, tell)
			return readCloser{told, r}, nil
		}
		all = append(all, unpack.Source{Open: open, DiffID: c.config.RootFS.DiffIDs[i]})
	}
	return all
}

// corrupt returns the error of a damaged layer that made unpacking fail, or err if there is none: a damaged one may
// fail in any way before its end, at which its digest is compared.
func (s *Store) corrupt(ctx context.Context, c *contents, err error) error {
	for _, desc := range c.manifest.Layers {
		if failed := s.layout.Verify(ctx, desc); errors.Is(failed, cas.ErrCorrupt) {
			return failed
		}
	}
	return err
}

type readCloser struct {
	io.Reader
	io.Closer
}
