package stores

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// blobLocation is the location of a blob store: a directory, or a bucket with a directory for uploads in progress.
type blobLocation struct {
	dir    string
	bucket drivers.Bucket // nil: in dir
}

// hosts is the server of a bucket; nil for a directory.
func (p blobLocation) hosts() []string {
	if p.bucket == nil {
		return nil
	}
	return []string{p.bucket.Host()}
}

// remote reports whether it is a bucket.
func (p blobLocation) remote() bool { return p.bucket != nil }

// blobsFor is the store that the global options name.
func blobsFor(t options.Text, root string) (blobLocation, error) {
	if !t.Given {
		return blobLocation{dir: filepath.Join(root, "blobs")}, nil
	}
	return blobsAt(t, root)
}

// blobsAt is the store that an option names.
func blobsAt(t options.Text, root string) (blobLocation, error) {
	k, rest, err := kindOf(t, blobStores)
	if err != nil {
		return blobLocation{}, err
	}
	if k.local {
		dir := options.Absolute(t.Dir, rest)
		return blobLocation{dir: dir}, checkTrusted(t, dir)
	}
	all, err := drivers.Get()
	if err != nil {
		return blobLocation{}, err
	}
	b, err := all.Buckets[k.scheme](t.Value)
	if err != nil {
		return blobLocation{}, fmt.Errorf("%s %q: %w", t.Label, redacted(t.Value), err)
	}
	return blobLocation{dir: staging(root, b), bucket: b}, nil
}

// staging is a directory per bucket: what waits there is only for that bucket.
func staging(root string, b drivers.Bucket) string {
	sum := sha256.Sum256([]byte(b.ID()))
	return filepath.Join(root, "staging", hex.EncodeToString(sum[:8]))
}

// open creates missing parts of the directory, and contacts no server.
func (p blobLocation) open() (*blob.Store, error) {
	if !p.remote() {
		return blob.Open(p.dir)
	}
	bucket, err := p.bucket.Open()
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	return blob.OpenShared(p.dir, bucket)
}
