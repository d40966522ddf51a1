package stores

import (
	"context"
	"io"
)

// BlobOpener opens blobs by their digests.
type BlobOpener func(sha256 string) (io.ReadCloser, error)

// Open calls o.
func (o BlobOpener) Open(sha256 string) (io.ReadCloser, error) { return o(sha256) }

// BlobOpener opens blobs of the store until ctx ends.
func (st *Stores) BlobOpener(ctx context.Context) BlobOpener {
	return func(sha256 string) (io.ReadCloser, error) { return st.Blobs.Open(ctx, sha256) }
}
