package image

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/spec"
)

// rootsDir holds the unpacked roots, next to the OCI image layout.
const rootsDir = "roots"

// referenceKey is the annotation in index.json for an image's source.
const referenceKey = "org.scidex.reference"

// Store keeps images and their unpacked roots in the caller's directory. Any number of the caller's processes may use it
// concurrently, and any may be killed at any time.
type Store struct {
	layout *layout.Layout
	roots  string
}

// Image is a named image of the store.
type Image struct {
	Name string `json:"name"`
	// Reference identifies the image: as pulled, or its name, and the digest.
	Reference string `json:"reference"`
	// Digest is the manifest's.
	Digest   digest.Digest `json:"digest"`
	Platform string        `json:"platform"` // "linux/amd64"
	// Created is the image's own creation time; nil if it has none.
	Created *time.Time `json:"created"`
	// Size is the sum of all blobs in bytes, as stored. Other images may share them.
	Size int64 `json:"size"`
	// RootDigest is the unpacked root filesystem's; "" if there is none.
	RootDigest digest.Digest `json:"rootfs_digest"`
	RootSize   int64         `json:"rootfs_size"`  // bytes in its files
	RootFiles  int64         `json:"rootfs_files"` // entries of any kind
	// PackagesDigest is its package list's; "" if it has none.
	PackagesDigest digest.Digest `json:"packages_digest"`
}

// UnknownError is returned for an unknown name. It is fs.ErrNotExist.
type UnknownError struct {
	Name  string
	Known []string // the names of the store
}

func (e *UnknownError) Error() string {
	meant := suggest.DidYouMean(e.Name, append([]string{spec.RootfsHost}, e.Known...), "")
	return fmt.Sprintf("no image %q%s", e.Name, cmp.Or(meant, `; see "scidex-oci image ls", or get it by "scidex-oci image pull" or "image import"`))
}

// Unwrap returns fs.ErrNotExist.
func (e *UnknownError) Unwrap() error { return fs.ErrNotExist }

// Open opens the store in dir and creates what is missing, for its owner only. A directory owned or writable by others is
// refused.
func Open(dir string) (*Store, error) {
	l, err := layout.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Store{layout: l, roots: filepath.Join(l.Dir(), rootsDir)}
	if err := os.Mkdir(s.roots, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("images: %w", err)
	}
	return s, nil
}

// Get returns the image of a name, or an *UnknownError.
func (s *Store) Get(name string) (Image, error) {
	c, err := s.resolve(name)
	if err != nil {
		return Image{}, err
	}
	return s.image(c)
}

// Command returns entry point and command in the configuration of an image, which no run executes by itself.
func (s *Store) Command(name string) (entrypoint, command []string, err error) {
	c, err := s.resolve(name)
	if err != nil {
		return nil, nil, err
	}
	return c.config.Config.Entrypoint, c.config.Config.Cmd, nil
}

// resolve returns a name's image.
func (s *Store) resolve(name string) (*contents, error) {
	desc, err := s.find(name)
	if err != nil {
		return nil, err
	}
	c, err := read(s.layout, desc)
	if err != nil {
		return nil, fmt.Errorf("image %q: %w", name, err)
	}
	return c, nil
}

// Known returns an *UnknownError for an unknown name. The image may be damaged.
func (s *Store) Known(name string) error {
	_, err := s.find(name)
	return err
}

func (s *Store) find(name string) (ocispec.Descriptor, error) {
	desc, err := s.layout.Resolve(name)
	if errors.Is(err, layout.ErrUnknown) {
		known, _ := s.layout.Names() // they only help
		err = &UnknownError{name, known}
	}
	return desc, err
}

// List returns all images, sorted by name. The errors are those of images that could not be read.
func (s *Store) List() ([]Image, error) {
	names, err := s.layout.Names()
	if err != nil {
		return nil, err
	}
	var all []Image
	var errs []error
	for _, name := range names {
		one, err := s.Get(name)
		if unknown := new(UnknownError); errors.As(err, &unknown) { // it has been removed
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, one)
	}
	return all, errors.Join(errs...)
}

// image describes a named image.
func (s *Store) image(c *contents) (Image, error) {
	name := c.desc.Annotations[ocispec.AnnotationRefName]
	one := Image{
		Name: name, Reference: c.desc.Annotations[referenceKey], Digest: c.desc.Digest,
		Platform: layout.PlatformName(c.config.Platform), Created: c.config.Created, Size: c.size(),
	}
	if one.Reference == "" {
		one.Reference = pinned(name, c.desc.Digest)
	}
	about, err := readRecord(s.root(c))
	if errors.Is(err, fs.ErrNotExist) {
		return one, nil
	}
	if err != nil {
		return one, fmt.Errorf("image %q: %w", name, err)
	}
	one.RootDigest, one.RootSize, one.RootFiles = about.Digest, about.Bytes, about.Entries
	one.PackagesDigest = about.packages(c)
	return one, nil
}

// Remove removes a name, and the blobs and the root unless something else needs them. What runs use stays until the next
// Sweep after their end, and inUse reports that.
func (s *Store) Remove(ctx context.Context, name string) (inUse bool, err error) {
	c, err := s.resolve(name)
	if unknown := new(UnknownError); errors.As(err, &unknown) {
		return false, err
	}
	damaged := err != nil // it is removed anyway
	if err := s.layout.Untag(name); errors.Is(err, layout.ErrUnknown) {
		return false, &UnknownError{Name: name}
	} else if err != nil {
		return false, err
	}
	swept, err := s.Sweep(ctx, false)
	if damaged || err != nil {
		return false, err
	}
	return swept.used(s.root(c)), nil
}

// root is the path of an image's unpacked root: images of the same layers share it.
func (s *Store) root(c *contents) string { return filepath.Join(s.roots, c.chain().Encoded()) }

// record is the small file next to an unpacked root, for quick starts and lists.
type record struct {
	Version  int           `json:"v"`
	Digest   digest.Digest `json:"digest"`
	Packages digest.Digest `json:"packages"` // of the package list in the root
	Bytes    int64         `json:"bytes"`
	Entries  int64         `json:"entries"`
}

// recordVersion is the version of the way roots are made; a root of another version is made again.
const recordVersion = 1

// packagesKey is the annotation of a manifest, or the label of a config, with the digest of the package list.
const packagesKey = "org.scidex.packages"

// packagesFile is that list's path in a root, in SPDX.
const packagesFile = "usr/share/scidex/packages.spdx.json"

// packages is the digest of the package list: of the file in the root, else as the image says.
func (r record) packages(c *contents) digest.Digest {
	if r.Packages != "" {
		return r.Packages
	}
	for _, said := range []string{c.manifest.Annotations[packagesKey], c.config.Config.Labels[packagesKey]} {
		if d := digest.Digest(said); d.Validate() == nil {
			return d
		}
	}
	return ""
}

func readRecord(root string) (record, error) {
	var r record
	text, err := os.ReadFile(filepath.Join(root, recordFile))
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", filepath.Join(root, recordFile), err)
	}
	if r.Version != recordVersion || r.Digest.Validate() != nil {
		return r, &os.PathError{Op: "read", Path: root, Err: fs.ErrNotExist}
	}
	return r, nil
}
