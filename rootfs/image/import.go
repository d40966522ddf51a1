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
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/unpack"
)

// source is something on disk with an image in it.
type source interface {
	// fetch copies the image's blobs into a layout, verified, and returns its manifest.
	fetch(ctx context.Context, to *layout.Layout, tell func(Progress)) (ocispec.Descriptor, error)
}

// Import imports an image from a path: an OCI image layout in a directory or a tar, the output of "docker save" or
// "podman save", or a tar of a root filesystem; the tars plain, or compressed by gzip or zstd.
func (s *Store) Import(ctx context.Context, from string, o Options) (Imported, error) {
	if err := CheckName(o.Name); err != nil {
		return Imported{}, err
	}
	src, done, err := s.source(ctx, from, o.Tag)
	if err != nil {
		return Imported{}, fmt.Errorf("import %q: %w", from, err)
	}
	defer func() { _ = done() }() // only read
	tidy := s.tidy(ctx)
	added, err := s.Add(ctx, o, func(ctx context.Context, to *layout.Layout) (ocispec.Descriptor, error) {
		return src.fetch(ctx, to, o.Progress)
	})
	if err != nil {
		tidy()
		return Imported{}, fmt.Errorf("import %q: %w", from, err)
	}
	return added, nil
}

// tidy returns a function that removes the blobs of a failed import. If other blobs have no name yet, as after an
// interrupted pull, it leaves all to gc.
func (s *Store) tidy(ctx context.Context) func() {
	garbage, err := s.layout.Sweep(ctx, time.Now(), true)
	if err != nil || len(garbage) > 0 {
		return func() {}
	}
	return func() { _, _ = s.layout.Sweep(context.WithoutCancel(ctx), time.Now(), false) }
}

// source detects what is at a path. Call done at the end.
func (s *Store) source(ctx context.Context, name, tag string) (from source, done func() error, err error) {
	dir, err := userdir.Open(name)
	if err == nil {
		return layoutIn(dir, tag)
	}
	var f *os.File
	if errors.Is(err, unix.ENOTDIR) {
		f, err = userdir.ReadAny(name)
	}
	if named := new(fs.PathError); errors.As(err, &named) {
		err = named.Err // the path is in the message
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("does not exist")
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		from, f, err = s.inFile(ctx, f, tag)
	default:
		err = errors.New("it is neither a directory nor a regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return from, f.Close, nil
}

func layoutIn(opened *userdir.Dir, tag string) (_ source, done func() error, err error) {
	at, err := opened.File()
	if err != nil {
		return nil, nil, errors.Join(err, opened.Close())
	}
	dir := directory{opened, at}
	from := ociSource{dir, tag}
	if err = from.checkMarker(); err == nil {
		return from, dir.close, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the directory has no file %s, so that it is no OCI image layout; to run in a directory as it is, give it to --rootfs",
			ocispec.ImageLayoutFile)
	}
	return nil, nil, errors.Join(err, dir.close())
}

// inFile detects what a file holds. Compressed contents other than a tar of a root filesystem are read from an
// uncompressed copy, which is returned instead of f.
func (s *Store) inFile(ctx context.Context, f *os.File, tag string) (source, *os.File, error) {
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, f, err
	}
	kind := sniff(head[:n])
	if kind == plainTar {
		from, err := inArchive(ctx, f, tag)
		return from, f, err
	}
	first, err := firstEntry(f)
	if err != nil {
		return nil, f, notATar(err)
	}
	if !ofArchive(first) {
		return tarSource{f, kind}, f, nil
	}
	return s.inCompressed(ctx, f, kind, tag)
}

// inCompressed is inFile for a possible compressed image archive.
func (s *Store) inCompressed(ctx context.Context, f *os.File, kind compression, tag string) (source, *os.File, error) {
	spool, err := s.spool(ctx, f)
	if err != nil {
		return nil, f, err
	}
	from, err := inArchive(ctx, spool, tag)
	if _, isRoot := from.(tarSource); isRoot || err != nil {
		return tarSource{f, kind}, f, errors.Join(err, spool.Close())
	}
	return from, spool, f.Close()
}

// inArchive detects what an uncompressed tar holds.
func inArchive(ctx context.Context, f *os.File, tag string) (source, error) {
	a, err := indexed(ctx, f)
	switch {
	case errors.Is(err, errRootTar):
		return tarSource{f, plainTar}, nil
	case err != nil:
		return nil, notATar(err)
	case a.has(ocispec.ImageLayoutFile):
		from := ociSource{a, tag}
		return from, from.checkMarker()
	case a.has(dockerIndexFile):
		return dockerSource{a, tag}, nil
	}
	return nil, notATar(errors.New("it has neither " + ocispec.ImageLayoutFile + " nor " + dockerIndexFile + " nor files of a root"))
}

func notATar(err error) error {
	return fmt.Errorf("it is no tar of an OCI layout, of docker save or of a root filesystem (plain, gzip or zstd): %w", err)
}

// firstEntry is the name of a compressed tar's first entry that is not the top directory.
func firstEntry(f *os.File) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	r, err := unpack.Decompress(f, unpack.DefaultBounds())
	if err != nil {
		return "", err
	}
	defer r.Close()
	for headers := tar.NewReader(r); ; {
		header, err := headers.Next()
		if err != nil {
			return "", err
		}
		if name := path.Clean(header.Name); name != "." && name != "/" && header.Typeflag != tar.TypeXGlobalHeader {
			return name, nil
		}
	}
}

// spool decompresses a file into an unnamed one, removed when closed.
func (s *Store) spool(ctx context.Context, f *os.File) (*os.File, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	bounds := unpack.DefaultBounds()
	r, err := unpack.Decompress(bounded.Until(ctx, f), bounds)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	spool, err := os.OpenFile(s.roots, unix.O_TMPFILE|os.O_RDWR, 0o600) //nolint:forbidigo // root's own
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(spool, &limited{r, bounds.Bytes}); err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	return spool, nil
}

// isTag reports whether typed means a full name, as HOST/PATH:TAG.
func isTag(name, typed string) bool { return name == typed || strings.HasSuffix(name, ":"+typed) }
