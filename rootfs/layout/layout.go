// Package layout keeps images in an OCI image layout (image-layout.md of the image specification): oci-layout,
// index.json, blobs/sha256/<hex>, so that skopeo and others can read it. ingest/ holds the partial files of downloads.
//
// A layout belongs to one user; any number of that user's processes may use it concurrently, and any may be killed at any
// time: a blob is complete or absent, and a name leads to a complete image.
package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	_ "crypto/sha256" // hash of the digests

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// ErrCorrupt is returned for a blob whose contents do not match its descriptor.
var ErrCorrupt = errors.New("the blob is damaged")

// The parts of a layout; its specification has constants for the others.
const (
	ingestDir  = "ingest"
	algorithm  = digest.SHA256
	dirMode    = 0o700
	blobMode   = 0o444
	marker     = `{"imageLayoutVersion":"` + ocispec.ImageLayoutVersion + `"}`
	emptyIndex = `{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageIndex + `","manifests":[]}`
)

// maxBlob bounds a descriptor's size in bytes, so that no sum of sizes overflows.
const maxBlob = 1 << 40

// Layout is an OCI image layout in the caller's directory.
type Layout struct {
	dir string
}

// Open opens the layout in dir and creates what is missing, for its owner only. It refuses a directory that belongs to or
// is writable by others, and a layout of another version.
func Open(dir string) (*Layout, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("image layout %s: %w", dir, err)
	}
	l := &Layout{abs}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("image layout %s: %w", dir, err)
	}
	return l, nil
}

// Dir is the layout's directory, absolute.
func (l *Layout) Dir() string { return l.dir }

func (l *Layout) open() error {
	if err := os.MkdirAll(l.dir, dirMode); err != nil {
		return err
	}
	for _, dir := range []string{l.dir, l.blobs(""), filepath.Join(l.dir, ingestDir)} {
		if err := os.MkdirAll(dir, dirMode); err != nil {
			return err
		}
		if err := private(dir); err != nil {
			return err
		}
	}
	found, err := readBounded(filepath.Join(l.dir, ocispec.ImageLayoutFile), 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return l.initialize()
	}
	if err != nil {
		return err
	}
	return checkMarker(found)
}

// initialize writes the two files of an empty layout. The marker is last: with it, all is there.
func (l *Layout) initialize() error {
	lock, err := lockDir(l.dir, flock.Exclusive)
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
	if err := replace(filepath.Join(l.dir, ocispec.ImageLayoutFile), []byte(marker)); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(l.dir))
}

func (l *Layout) index() string { return filepath.Join(l.dir, ocispec.ImageIndexFile) }

// blobs is the path of a blob by hexadecimal digest, or their directory for "".
func (l *Layout) blobs(hex string) string {
	return filepath.Join(l.dir, ocispec.ImageBlobsDir, algorithm.String(), hex)
}

func (l *Layout) partial(hex string) string {
	return filepath.Join(l.dir, ingestDir, algorithm.String()+"-"+hex)
}

// private refuses a path that others could change.
func private(path string) error {
	info, err := os.Stat(path) // the user may link images elsewhere
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is no directory; move it away", path)
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s does not belong to the calling user (uid %d); name a root directory of your own", path, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s may be written to by others (mode %04o); run: chmod go-w %s", path, info.Mode().Perm(), path)
	}
	return nil
}

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
