package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/internal/regular"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// maxEntries bounds the entries of an archive kept in memory; an image has a few per layer.
const maxEntries = 100_000

// files is a directory or an archive with an image.
type files interface {
	// open opens a regular file and returns its size in bytes; a missing one is fs.ErrNotExist.
	open(name string) (io.ReadCloser, int64, error)
}

// directory is an OCI image layout on disk. No name leads out of it, no open blocks, and root opens with the rights of its owner.
type directory struct {
	owned *userdir.Dir
	at    *os.File // the same
}

func (d directory) close() error { return errors.Join(d.at.Close(), d.owned.Close()) }

func (d directory) open(name string) (_ io.ReadCloser, _ int64, err error) {
	var fd int
	err = d.owned.Do(func() (err error) {
		fd, err = beneath.Openat2(int(d.at.Fd()), name, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS,
		})
		return err
	})
	if err != nil {
		return nil, 0, &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), path.Join(d.at.Name(), name))
	info, err := f.Stat()
	if err = errors.Join(err, regular.Check(f)); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// archive is a tar with random access: entries are known by the offsets of their contents.
type archive struct {
	at      io.ReaderAt
	entries map[string]entry
}

type entry struct {
	offset, size int64
	link         string // target entry of a link
}

func (a *archive) open(name string) (io.ReadCloser, int64, error) {
	clean := path.Clean(name)
	for range 8 { // a link may lead to a link: docker save once wrote them for identical layers
		e, ok := a.entries[clean]
		if !ok {
			break
		}
		if e.link == "" {
			return io.NopCloser(io.NewSectionReader(a.at, e.offset, e.size)), e.size, nil
		}
		clean = e.link
	}
	return nil, 0, &os.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (a *archive) has(name string) bool {
	r, _, err := a.open(name)
	if err == nil {
		r.Close()
	}
	return err == nil
}

// errRootTar is returned for a tar of a root filesystem, not of an image.
var errRootTar = errors.New("it holds a root filesystem")

// indexed reads the headers of a tar, up to the first that no image archive has: then the error is errRootTar.
func indexed(ctx context.Context, f *os.File) (*archive, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	a := &archive{at: f, entries: map[string]entry{}}
	for headers := tar.NewReader(f); ; {
		header, err := headers.Next()
		if errors.Is(err, io.EOF) {
			return a, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		// The header reader does not read ahead: the contents start at the file's offset.
		offset, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		if err := a.add(header, offset); err != nil {
			return nil, err
		}
		if len(a.entries) > maxEntries {
			return nil, fmt.Errorf("it has more than %d entries, which no image has", maxEntries)
		}
	}
}

func (a *archive) add(header *tar.Header, offset int64) error {
	name := path.Clean(header.Name)
	if header.Typeflag == tar.TypeXGlobalHeader || name == "." || name == "/" {
		return nil
	}
	if !ofArchive(name) {
		return errRootTar
	}
	switch header.Typeflag {
	case tar.TypeReg:
		a.entries[name] = entry{offset: offset, size: header.Size}
	case tar.TypeSymlink:
		a.entries[name] = entry{link: path.Join(path.Dir(name), header.Linkname)}
	case tar.TypeLink:
		a.entries[name] = entry{link: path.Clean(header.Linkname)}
	}
	return nil
}

// ofArchive reports whether an image archive may have an entry of this name. Docker archives name layers and configs by
// digest.
func ofArchive(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	switch first {
	case "blobs", "index.json", "oci-layout", "manifest.json", "repositories", "ingest":
		return true
	}
	hex, _, _ := strings.Cut(strings.TrimPrefix(first, "sha256:"), ".")
	return len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}
