package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// Remote is where the blobs of a shared store are, such as a bucket. The store's directory holds what is on its way
// there, and copies. Whoever commits calls Keep before it, so that no row names a blob that is not there; nobody else's
// Remove takes a blob away that Keep has vouched for, on whatever host either runs.
type Remote interface {
	// Keep puts blobs there that are not, read by local, and sees to it that all of them stay for at least an hour; from
	// then on rows have to name them. kept is told of each blob that had to be put, by several goroutines.
	Keep(ctx context.Context, digests []string, local func(sha256 string) (*os.File, error), kept func()) error
	// Replace puts a blob, whatever is there.
	Replace(ctx context.Context, sha256 string, content *os.File) error
	// Open is not verified. A blob that is not there is fs.ErrNotExist, here and for Size, which is in bytes.
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
	Size(ctx context.Context, sha256 string) (int64, error)
	Walk(ctx context.Context, yield func(Found) bool) error
	// Remove removes those that have not been put since before, and returns them.
	Remove(ctx context.Context, blobs []Found, before time.Time) ([]Found, error)
	// CleanUploads gives up uploads that were begun before, and counts them.
	CleanUploads(ctx context.Context, before time.Time, dry bool) (int, error)
	// CatalogID is "" where there is none. SetCatalogID keeps one that is there.
	CatalogID(ctx context.Context) (string, error)
	SetCatalogID(ctx context.Context, id string) error
	ChangeCatalogID(ctx context.Context, id string) error
	// URL names it, without what is needed to reach it. String is for people: without anything that is secret.
	URL() string
	String() string
}

// Found is a blob as a listing has it.
type Found struct {
	SHA256   string
	Size     int64 // bytes
	Modified time.Time
}

// ErrPasses is wrapped by errors of a Remote that may be gone by themselves soon.
var ErrPasses = errors.New("blob store is not available")

// How long a blob that nothing names stays. In a directory what was removed a moment ago may be run again. In a shared
// store it is also what hosts rely on that do not see each other, see docs/adr/0025.
const (
	graceHere   = time.Hour
	graceRemote = 24 * time.Hour
)

// OpenShared opens a store whose blobs are remote. dir is a directory of this host's as for Open.
func OpenShared(dir string, remote Remote) (*Store, error) {
	s, err := Open(dir)
	if err == nil {
		s.remote = remote
	}
	return s, err
}

// Shared reports whether other hosts may use the store as well.
func (s *Store) Shared() bool { return s.remote != nil }

// Grace is how old a blob has to be to be removed.
func (s *Store) Grace() time.Duration {
	if s.remote != nil {
		return graceRemote
	}
	return graceHere
}

// String names the store for people.
func (s *Store) String() string {
	if s.remote != nil {
		return s.remote.String()
	}
	return s.dir
}

// URL is what names the store, as file://DIR or that of its Remote; below it, /sha256/ and a digest name a blob.
func (s *Store) URL() string {
	if s.remote != nil {
		return s.remote.URL()
	}
	return "file://" + s.dir
}

// Keep makes sure that blobs are where rows may name them. It comes after Sync and before the commit, and again before
// each later try of a commit. Blobs of a directory are there by then. kept is told of each blob that had to be put
// elsewhere, by several goroutines. An error is ErrPasses where another try may help.
func (s *Store) Keep(ctx context.Context, digests []string, kept func()) error {
	if s.remote == nil || len(digests) == 0 {
		return nil
	}
	return s.remote.Keep(ctx, digests, s.openHere, kept)
}

// Fetch opens a blob as a file of this host, read to its end and verified before it is returned. Of a shared store it
// makes a copy here, which stays until Trim or EmptyCache.
func (s *Store) Fetch(ctx context.Context, sha256 string) (*os.File, error) {
	f, err := s.verifiedHere(sha256)
	if s.remote == nil || err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrCorrupt) {
		return f, err
	}
	return s.download(ctx, sha256, errors.Is(err, ErrCorrupt))
}

// verifiedHere opens the file of a blob in the directory.
func (s *Store) verifiedHere(digest string) (*os.File, error) {
	f, err := s.openHere(digest)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	if got := hex.EncodeToString(sum.Sum(nil)); err == nil && got != digest {
		err = fmt.Errorf("blob %s: %w: its contents have the digest %s", digest, ErrCorrupt, got)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// download makes a copy in the directory. A damaged one of the same size would be kept: it goes first. One that is whole
// stays: somebody else may have fetched it meanwhile, and be about to open it.
func (s *Store) download(ctx context.Context, sha256 string, damaged bool) (_ *os.File, err error) {
	from, err := s.remote.Open(ctx, sha256)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	ingest, err := s.NewIngest("fetch")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ingest.Close()) }() // until then Trim leaves it alone
	name, to, err := ingest.Create()
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(to, newVerified(from, sha256))
	if err := errors.Join(err, to.Close()); err != nil {
		return nil, err
	}
	if damaged {
		if err := s.forget(sha256); err != nil {
			return nil, err
		}
	}
	if err := ingest.Publish(name, sha256); err != nil {
		return nil, err
	}
	return s.verifiedHere(sha256)
}

// Verify reads a blob where it is kept, and not a copy, to its end.
func (s *Store) Verify(ctx context.Context, sha256 string) error {
	f, err := s.openKept(ctx, sha256)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}
