package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
)

// Remote is the backend of a shared store, such as a bucket. The store's directory holds pending uploads and copies. Call
// Keep before the commit, so that no row names a missing blob; no Remove, on any host, deletes a blob that Keep has
// confirmed.
type Remote interface {
	// Keep uploads missing blobs, read by local, and guarantees that all of them stay for at least an hour; from then on
	// rows must name them. It calls kept for each uploaded blob, from several goroutines.
	Keep(ctx context.Context, digests []string, local func(sha256 string) (*os.File, error), kept func()) error
	// Replace puts a blob, whatever is there.
	Replace(ctx context.Context, sha256 string, content *os.File) error
	// Open does not verify. A missing blob is fs.ErrNotExist, here and for Size, which is in bytes.
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
	Size(ctx context.Context, sha256 string) (int64, error)
	Walk(ctx context.Context, yield func(cas.Found) bool) error
	// Remove removes those not uploaded since before, and returns them.
	Remove(ctx context.Context, blobs []cas.Found, before time.Time) ([]cas.Found, error)
	// CleanUploads aborts uploads that were started before, and counts them.
	CleanUploads(ctx context.Context, before time.Time, dry bool) (int, error)
	// CatalogID is "" if there is none. SetCatalogID keeps an existing one.
	CatalogID(ctx context.Context) (string, error)
	SetCatalogID(ctx context.Context, id string) error
	ChangeCatalogID(ctx context.Context, id string) error
	// URL names it, without credentials. String is for people: it contains no secrets.
	URL() string
	String() string
}

// ErrTransient is wrapped by transient errors of a Remote.
var ErrTransient = errors.New("blob store is not available")

// How long an unreferenced blob stays. In a directory a run that was just removed may be run again. In a shared store hosts
// that do not see each other also rely on it, see docs/adr/0025.
const (
	graceHere   = time.Hour
	graceRemote = 24 * time.Hour
)

// OpenShared opens a store whose blobs are remote. dir is a local directory as for Open.
func OpenShared(dir string, remote Remote) (*Store, error) {
	s, err := Open(dir)
	if err == nil {
		s.remote = remote
		s.Copies = true
	}
	return s, err
}

// Shared reports whether other hosts may use the store as well.
func (s *Store) Shared() bool { return s.remote != nil }

// Grace is the minimum age of a removable blob.
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
	return s.Dir()
}

// URL names the store, as file://DIR or that of its Remote; below it, /sha256/ and a digest name a blob.
func (s *Store) URL() string {
	if s.remote != nil {
		return s.remote.URL()
	}
	return "file://" + s.Dir()
}

// Keep makes sure that blobs are where rows may name them. Call it after Sync and before the commit, and before each
// retry of a commit. In a directory they are there already, and Keep only calls CheckReplaced. It calls kept for each
// uploaded blob, from several goroutines. An error is ErrTransient if it is transient.
func (s *Store) Keep(ctx context.Context, digests []string, kept func()) error {
	if s.remote == nil {
		return s.CheckReplaced()
	}
	if len(digests) == 0 {
		return nil
	}
	return s.remote.Keep(ctx, digests, s.Store.Open, kept)
}

// Fetch opens a blob as a file of this host, read to its end and verified. For a shared store it makes a copy here, which
// stays until Trim or EmptyCache.
func (s *Store) Fetch(ctx context.Context, sha256 string) (*os.File, error) {
	f, err := s.Verified(sha256)
	if s.remote == nil || err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, cas.ErrCorrupt) {
		return f, err
	}
	return s.download(ctx, sha256)
}

// download makes a copy in the directory, which replaces a damaged one. A whole one stays: another process may just
// have fetched it, and be about to open it.
func (s *Store) download(ctx context.Context, sha256 string) (_ *os.File, err error) {
	from, err := s.remote.Open(ctx, sha256)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	ingest, err := s.NewIngest("fetch")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ingest.Close()) }() // until then Trim skips it
	if _, err := ingest.Put(sha256, from); err != nil {
		return nil, err
	}
	return s.Verified(sha256)
}
