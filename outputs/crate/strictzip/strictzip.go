// Package strictzip reads zip archives that can be read in only one way. Tools find the files of an archive by its
// central directory, by the headers in front of the files, or by signatures, so that one archive can have other files
// for each tool; but what is verified must be what anybody extracts. Open refuses an archive in which these ways could
// give different names or contents: bytes that belong to no entry, headers that disagree, names that tools resolve,
// encryption. Names that differ only in case or in Unicode normalization are accepted: they depend on the file system,
// and any directory can have them.
package strictzip

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// Archive is an open archive.
type Archive struct {
	File []*zip.File
	from *os.File
}

// Open opens an archive. The contents of a file are checked when they are read up to their end.
func Open(path string) (*Archive, error) {
	f, err := userdir.ReadAny(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	files, err := read(f, info.Size())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Archive{files, f}, nil
}

// Close closes it.
func (a *Archive) Close() error { return a.from.Close() }

func read(from io.ReaderAt, size int64) ([]*zip.File, error) {
	entries, err := check(from, size)
	if errors.Is(err, errNoZip) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("the archive is damaged, or tools could read it in different ways: %w; pack its files anew", err)
	}
	r, err := zip.NewReader(from, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	if len(r.File) != len(entries) {
		return nil, fmt.Errorf("%d entries, and archive/zip reads %d", len(entries), len(r.File))
	}
	r.RegisterDecompressor(zip.Deflate, inflate)
	return r.File, nil
}

// inflated is a deflate stream that has to end with its file: a tool that reads on from there finds the next header.
type inflated struct {
	io.ReadCloser
	from *bufio.Reader
}

func inflate(from io.Reader) io.ReadCloser {
	b := bufio.NewReader(from)
	return inflated{flate.NewReader(b), b}
}

func (i inflated) Read(p []byte) (int, error) {
	n, err := i.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		if _, more := i.from.ReadByte(); more == nil {
			err = errors.New("its compressed data end before it does")
		} else if !errors.Is(more, io.EOF) {
			err = more
		}
	}
	return n, err
}
