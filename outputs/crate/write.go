package crate

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
)

// temporary begins the name of a crate's directory until it is whole.
const temporary = ".scidex-crate-"

// WriteDir writes the crate into a directory that does not exist or is empty, whole or not at all.
func (c *Crate) WriteDir(ctx context.Context, dir string, from Source) (err error) {
	parent, name, err := userdir.Parent(strings.TrimRight(dir, "/"))
	if err != nil {
		return fmt.Errorf("crate: %w", userdir.NoParent("directory", dir, err))
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	switch there, err := parent.Sub(name); { // before copying
	case err == nil:
		inside, err := there.Names(1)
		if err := errors.Join(err, there.Close()); err != nil {
			return fmt.Errorf("crate: %w", err)
		}
		if len(inside) > 0 {
			return taken(dir)
		}
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
		return taken(dir)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("crate: %w", userdir.CannotMake("directory", dir, err))
	}
	temp := temporary + rand.Text()
	made, err := parent.Mkdir(temp, 0o755)
	if err != nil {
		return fmt.Errorf("crate: %w", userdir.CannotMake("directory", dir, err))
	}
	if err = c.fill(ctx, made, from); err == nil {
		err = parent.Rename(temp, parent, name, 0) // replaces an empty directory only (rename(2))
	}
	if err != nil {
		err = errors.Join(err, remove(context.WithoutCancel(ctx), parent, temp, made))
	}
	switch err = errors.Join(err, made.Close()); {
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.ENOTDIR):
		return taken(dir)
	case err != nil:
		return fmt.Errorf("crate: %w", err)
	}
	return nil
}

func (c *Crate) fill(ctx context.Context, dir *userdir.Dir, from Source) error {
	own, err := dir.Again()
	if err != nil {
		return err
	}
	target := outputs.NewTarget(own, false)
	err = c.each(ctx, from, func(path string, _ int64, r io.Reader) error { return target.Put([]byte(path), 0o644, r) })
	return errors.Join(err, target.Close())
}

// remove removes what was written of a crate.
func remove(ctx context.Context, parent *userdir.Dir, name string, dir *userdir.Dir) error {
	f, err := dir.File()
	if err != nil {
		return err
	}
	err = dir.Do(func() error { return outputs.Empty(ctx, f) })
	return errors.Join(err, parent.Remove(name, f), f.Close())
}

func taken(dir string) error {
	return fmt.Errorf("crate: %q exists and is no empty directory; name a new one", dir)
}

// WriteZip writes the crate as an archive under an unused name, whole or not at all. The same run gives the same bytes.
// Entries of 4 GiB and more use zip64.
func (c *Crate) WriteZip(ctx context.Context, file string, from Source) (err error) {
	parent, name, err := userdir.Parent(file)
	if err != nil {
		return fmt.Errorf("crate: %w", userdir.NoParent("file", file, err))
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	if _, err := parent.Lstat(name); err == nil {
		return fmt.Errorf("crate: %q exists; name another file", file)
	}
	if err := parent.Writable(); err != nil {
		return fmt.Errorf("crate: %w", userdir.CannotMake("file", file, err))
	}
	err = parent.Write(name, false, 0o644, func(to *os.File) error { return errors.Join(c.zip(ctx, to, from), to.Sync()) })
	switch {
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("crate: %q exists; name another file", file)
	case err != nil:
		return fmt.Errorf("crate: %w", err)
	}
	return nil
}

func (c *Crate) zip(ctx context.Context, to io.Writer, from Source) error {
	w := zip.NewWriter(to)
	err := c.each(ctx, from, func(path string, _ int64, r io.Reader) error {
		entry := &zip.FileHeader{Name: path, Method: zip.Deflate, Modified: c.modified}
		entry.SetMode(0o644)
		to, err := w.CreateHeader(entry)
		if err != nil {
			return err
		}
		_, err = io.Copy(to, r)
		return err
	})
	return errors.Join(err, w.Close())
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
