// Package layout keeps images in an OCI image layout (image-layout.md of the image specification): oci-layout,
// index.json, blobs/sha256/<hex>, so that skopeo and others can read it. The blobs are a store of internal/cas.
//
// A layout belongs to one user; any number of that user's processes may use it concurrently, and any may be killed at any
// time: a blob is complete or absent, and a name leads to a complete image.
package layout

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	_ "crypto/sha256" // hash of the digests

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// The parts of a layout; its specification has constants for the others.
const (
	algorithm  = digest.SHA256
	marker     = `{"imageLayoutVersion":"` + ocispec.ImageLayoutVersion + `"}`
	emptyIndex = `{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageIndex + `","manifests":[]}`
)

// maxBlob bounds a descriptor's size in bytes, so that no sum of sizes overflows.
const maxBlob = 1 << 40

// Layout is an OCI image layout in the caller's directory.
type Layout struct {
	blobs *cas.Store
}

// Open opens the layout in dir and creates what is missing, for its owner only. It refuses a directory that belongs to or
// is writable by others, and a layout of another version.
func Open(dir string) (*Layout, error) {
	blobs, err := cas.Open(dir, filepath.Join(ocispec.ImageBlobsDir, algorithm.String()))
	l := &Layout{blobs}
	if err == nil {
		err = l.begin()
	}
	if err != nil {
		return nil, fmt.Errorf("image layout %s: %w", dir, err)
	}
	return l, nil
}

// begin checks the version, or makes an empty layout.
func (l *Layout) begin() error {
	found, err := readBounded(l.path(ocispec.ImageLayoutFile), 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return l.initialize()
	}
	if err != nil {
		return err
	}
	return checkMarker(found)
}

// Dir is the layout's directory, absolute.
func (l *Layout) Dir() string { return l.blobs.Dir() }

// Hold keeps Sweep from removing any blob until release is called. To look for or add blobs and name them later, hold
// before the first look and until the name is set. Hold waits while a Sweep runs.
func (l *Layout) Hold(ctx context.Context) (release func() error, err error) {
	return l.blobs.Hold(ctx)
}

// initialize writes the two files of an empty layout. The marker is last: with it, all is there.
func (l *Layout) initialize() error {
	lock, err := l.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	_, err = os.Lstat(l.index())
	if errors.Is(err, fs.ErrNotExist) {
		err = replace(l.index(), []byte(emptyIndex))
	}
	if err != nil {
		return err
	}
	return replace(l.path(ocispec.ImageLayoutFile), []byte(marker))
}

// lock opens the layout's directory and waits for its lock, which is for index.json.
func (l *Layout) lock() (*os.File, error) {
	f, err := os.OpenFile(l.Dir(), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	if err := flock.Lock(f, flock.Exclusive); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return f, nil
}

func (l *Layout) path(name string) string { return filepath.Join(l.Dir(), name) }

func (l *Layout) index() string { return l.path(ocispec.ImageIndexFile) }

// Check refuses a descriptor of a blob that a layout cannot hold: a digest other than sha256, a size below 0 or above a
// TiB.
func Check(desc ocispec.Descriptor) error {
	err := desc.Digest.Validate()
	if errors.Is(err, digest.ErrDigestUnsupported) || err == nil && desc.Digest.Algorithm() != algorithm {
		return fmt.Errorf("digest %s: only sha256 is supported; have the image pushed with sha256 digests", clip(desc.Digest.String()))
	}
	if err != nil {
		return fmt.Errorf("digest %q: %w", clip(desc.Digest.String()), err)
	}
	if desc.Size < 0 || desc.Size > maxBlob {
		return fmt.Errorf("%s: a size of %d bytes is not between 0 and %d", desc.Digest, desc.Size, int64(maxBlob))
	}
	return nil
}

func clip(s string) string { return format.Cut(s, 100) }
