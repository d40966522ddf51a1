package crate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/crate/strictzip"
)

// The metadata may have metadataBase bytes, and metadataEach more for each file of the crate. A file needs some 500.
const (
	metadataBase = 16 << 20
	metadataEach = 4 << 10
)

// Problem is a difference from the metadata.
type Problem struct {
	Path string `json:"path"`
	What string `json:"what"` // "missing", "changed: ...", "not named", ...
}

// Check is Verify's result.
type Check struct {
	Files    int // that match the metadata
	Bytes    int64
	Problems []Problem // by path
	Signed   bool      // it has a statement, which was not verified
}

// Open opens a directory or a zip archive to be verified, a crate or not. Close it.
func Open(path string) (*Contents, error) {
	there, err := userdir.Handle(path)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	info, err := there.Stat()
	if err := errors.Join(err, there.Close()); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	open := openZip
	switch {
	case info.IsDir():
		open = openDir
	case !info.Mode().IsRegular(): // opening a FIFO would wait for a writer
		return nil, fmt.Errorf("verify %q: it is neither a directory nor a regular file", path)
	}
	c, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("verify %q: %w", path, err)
	}
	return c, nil
}

// Contents are the files of a directory or an archive.
type Contents struct {
	open       map[string]func() (io.ReadCloser, error)
	notRegular []Problem // entries that are no files
	close      func() error
}

func openZip(path string) (*Contents, error) {
	archive, err := strictzip.Open(path)
	if err != nil {
		return nil, err
	}
	c := &Contents{open: map[string]func() (io.ReadCloser, error){}, close: archive.Close}
	for _, file := range archive.File {
		switch {
		case file.Mode().IsDir():
		case !file.Mode().IsRegular():
			c.notRegular = append(c.notRegular, Problem{file.Name, "no regular file"})
		default:
			c.open[file.Name] = file.Open
		}
	}
	return c, nil
}

func openDir(dir string) (*Contents, error) {
	d, err := userdir.Open(dir)
	if err != nil {
		return nil, err
	}
	root, err := d.Root()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	c := &Contents{
		open: map[string]func() (io.ReadCloser, error){}, close: func() error { return errors.Join(root.Close(), d.Close()) },
	}
	err = d.Do(func() error {
		return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir():
			case !entry.Type().IsRegular():
				c.notRegular = append(c.notRegular, Problem{name, "no regular file"})
			default:
				c.open[name] = func() (f io.ReadCloser, err error) {
					err = d.Do(func() error {
						f, err = root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
						return err
					})
					return f, err
				}
			}
			return nil
		})
	})
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// Close closes what Open has opened.
func (c *Contents) Close() error { return c.close() }

// NotRegular are the entries that are no regular files.
func (c *Contents) NotRegular() []Problem { return c.notRegular }

// Names are those of the files, sorted.
func (c *Contents) Names() []string { return slices.Sorted(maps.Keys(c.open)) }

// Has reports whether there is a file of that name.
func (c *Contents) Has(name string) bool { return c.open[name] != nil }

// Read reads a file of at most so many bytes.
func (c *Contents) Read(name string, most int64) ([]byte, error) {
	file, err := c.open[name]()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bounded.ReadAll(file, most)
}

// Compare returns how a file differs from its size and digest, empty if it does not. It reads one byte more than the size. An error
// of the file system is no difference.
func (c *Contents) Compare(name string, size int64, digest string) (string, error) {
	return named{size: size, sha256: digest}.compare(name, c.open[name])
}

// CompareDigest is Compare for an unknown size. It reads all of the file.
func (c *Contents) CompareDigest(name, digest string) (string, error) {
	open := c.open[name]
	if open == nil {
		return "missing", nil
	}
	file, err := open()
	if err != nil {
		return Unreadable(name, err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return Unreadable(name, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return "changed: its digest is another", nil
	}
	return "", nil
}

// Unreadable is the problem of a file that is damaged in an archive. An errno is an error of the file system, which
// says nothing about the file: it is returned, and verifying ends.
func Unreadable(name string, err error) (string, error) {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return "", fmt.Errorf("%q: %w", name, err)
	}
	return "unreadable: " + err.Error(), nil
}

// Verify compares an untrusted crate with its metadata: that all files that it names exist, with their sizes and digests, and
// no others. It only reads, and of each file at most its size and one byte, so that an archive cannot make it read endlessly.
// The metadata itself is not signed: changes to both it and the files are not detected.
func (c *Contents) Verify(ctx context.Context) (Check, error) {
	check := Check{Problems: slices.Clone(c.notRegular)}
	left := maps.Clone(c.open)
	all, err := c.named()
	if err != nil {
		return check, err
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if err := ctx.Err(); err != nil {
			return check, err
		}
		n := all[path]
		open := left[path]
		delete(left, path)
		what, err := n.compare(path, open)
		if err != nil {
			return check, err
		}
		if what != "" {
			check.Problems = append(check.Problems, Problem{path, what})
			continue
		}
		check.Files++
		check.Bytes += n.size
	}
	for path := range left {
		if path != MetadataFile {
			check.Problems = append(check.Problems, Problem{path, "not named in the metadata"})
		}
	}
	slices.SortStableFunc(check.Problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return check, nil
}

// named reads the files in the metadata.
func (c *Contents) named() (map[string]named, error) {
	all := graphFiles{}
	_, err := c.entities(all.add)
	return all, err
}

// entities reads the metadata, one entity at a time: an archive of a few kilobytes may hold millions.
func (c *Contents) entities(take func(described) error) (other rest, err error) {
	open := c.open[MetadataFile]
	if open == nil {
		return other, fmt.Errorf("it has no %s: this is no RO-Crate", MetadataFile)
	}
	file, err := open()
	if err != nil {
		return other, err
	}
	defer file.Close()
	most := metadataBase + metadataEach*int64(len(c.open))
	bounded := &io.LimitedReader{R: file, N: most}
	if other, err = eachEntity(json.NewDecoder(bounded), take); bounded.N == 0 {
		return other, fmt.Errorf("%s: it has more than the %d bytes that are read for %d files", MetadataFile, most, len(c.open))
	} else if err != nil {
		return other, fmt.Errorf("%s: %w", MetadataFile, err)
	}
	return other, nil
}

// compare returns how a file differs from the metadata, empty if it does not.
func (n named) compare(name string, open func() (io.ReadCloser, error)) (string, error) {
	switch {
	case n.wrong != "":
		return n.wrong, nil
	case open == nil:
		return "missing", nil
	}
	file, err := open()
	if err != nil {
		return Unreadable(name, err)
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, io.LimitReader(file, n.size+1))
	switch {
	case err != nil:
		return Unreadable(name, err)
	case size > n.size:
		return fmt.Sprintf("changed: it has more than the %d bytes it is to have", n.size), nil
	case size < n.size:
		return fmt.Sprintf("changed: it has %d bytes of %d", size, n.size), nil
	case hex.EncodeToString(sum.Sum(nil)) != n.sha256:
		return "changed: its digest is another", nil
	}
	return "", nil
}
