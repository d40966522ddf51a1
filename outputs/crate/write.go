package crate

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// WriteDir writes the crate into a directory that does not exist or is empty, whole or not at all.
func (c *Crate) WriteDir(ctx context.Context, dir string, from Source) (err error) {
	switch inside, err := os.ReadDir(dir); { // before copying
	case len(inside) > 0 || errors.Is(err, unix.ENOTDIR):
		return taken(dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("crate: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), ".scidex-crate-")
	if err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(temp))
		}
	}()
	target, err := outputs.OpenTarget(temp, false)
	if err != nil {
		return err
	}
	err = c.each(ctx, from, func(path string, _ int64, r io.Reader) error { return target.Put([]byte(path), 0o644, r) })
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	if err := os.Chmod(temp, 0o755); err != nil { //nolint:gosec // as mkdir(1) does, for sharing
		return fmt.Errorf("crate: %w", err)
	}
	err = unix.Rename(temp, dir) // replaces an empty directory only (rename(2))
	if errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR) {
		return taken(dir)
	}
	if err != nil {
		return fmt.Errorf("crate: rename to %q: %w", dir, err)
	}
	return nil
}

func taken(dir string) error {
	return fmt.Errorf("crate: %q exists and is no empty directory; name a new one", dir)
}

// WriteZip writes the crate as an archive under an unused name, whole or not at all. The same run gives the same bytes.
// Entries of 4 GiB and more use zip64.
func (c *Crate) WriteZip(ctx context.Context, file string, from Source) (err error) {
	if _, err := os.Lstat(file); err == nil {
		return fmt.Errorf("crate: %q exists; name another file", file)
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".scidex-crate-")
	if err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	w := zip.NewWriter(temp)
	err = c.each(ctx, from, func(path string, _ int64, r io.Reader) error {
		entry := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: c.modified}
		entry.SetMode(0o644)
		to, err := w.CreateHeader(entry)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, r)
		return err
	})
	err = errors.Join(err, w.Close(), temp.Chmod(0o644), temp.Sync(), temp.Close())
	if err != nil {
		return fmt.Errorf("crate: %w", err)
	}
	switch err := outputs.Publish(unix.AT_FDCWD, temp.Name(), file); { // never replaces a file
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("crate: %q exists; name another file", file)
	case err != nil:
		return fmt.Errorf("crate: rename to %q: %w", file, err)
	}
	return nil
}

// each calls put for the metadata and every file of the crate, verified during the read.
func (c *Crate) each(ctx context.Context, from Source, put func(path string, size int64, r io.Reader) error) error {
	if err := put(MetadataFile, int64(len(c.metadata)), bytes.NewReader(c.metadata)); err != nil {
		return err
	}
	for _, f := range c.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.put(f, from, put); err != nil {
			return fmt.Errorf("%q: %w", f.path, err)
		}
	}
	return nil
}

func (c *Crate) put(f placed, from Source, put func(path string, size int64, r io.Reader) error) (err error) {
	content, err := from.Open(f.file.SHA256)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return put(f.path, f.file.Size, content)
}
