// Package s3 keeps the blobs of a store in a bucket, which several hosts may share. A blob is the object
// <prefix>/sha256/<hex>; catalog_id names the catalog that the bucket belongs to; gc/ holds records of removals
// (docs/adr/0025).
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

// Bucket is a blob.Remote.
type Bucket struct {
	Location
	client minio.Core
	slow   minio.Core // for requests answered only once a large object is written
}

var _ blob.Remote = (*Bucket)(nil)

// tries is the maximum number of tries after transient errors, 0.2 to 1 s apart.
const tries = 3

// Open makes a client of a bucket. It sends no request.
func Open(l Location) (*Bucket, error) {
	c, err := configFor(l)
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", l, err)
	}
	client, err := c.client(answerMost)
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", l, err)
	}
	slow, err := c.client(writeMost)
	if err != nil {
		return nil, fmt.Errorf("blob store %s: %w", l, err)
	}
	return &Bucket{l, *client, *slow}, nil
}

// client makes a client with a timeout for each answer.
func (c config) client(answer time.Duration) (*minio.Core, error) {
	return minio.NewCore(c.host, &minio.Options{
		Creds: c.creds, Secure: c.secure, Region: c.region, MaxRetries: tries, Transport: transport(dial, answer, c.roots),
	})
}

// blobsBelow is blobs' prefix.
const blobsBelow = "sha256/"

func (b *Bucket) blobKey(sha256 string) string { return b.key(blobsBelow + sha256) }

// URL names the bucket and the prefix.
func (b *Bucket) URL() string { return b.Location.String() }

// String names the bucket and its server.
func (b *Bucket) String() string { return b.Location.String() + " at " + b.client.EndpointURL().Host }

// Host is the server's name or address.
func (b *Bucket) Host() string { return b.client.EndpointURL().Hostname() }

// Open reads a blob.
func (b *Bucket) Open(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	body, _, _, err := b.client.GetObject(ctx, b.Bucket, b.blobKey(sha256), minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explain("blob "+sha256, err)
	}
	return reading{b, sha256, body}, nil
}

// reading explains read errors.
type reading struct {
	*Bucket
	sha256 string
	io.ReadCloser
}

func (r reading) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.explain("blob "+r.sha256, err)
	}
	return n, err
}

// Size requests the size of a blob.
func (b *Bucket) Size(ctx context.Context, sha256 string) (int64, error) {
	info, err := b.stat(ctx, sha256)
	return info.Size, err
}

func (b *Bucket) stat(ctx context.Context, sha256 string) (cas.Found, error) {
	info, err := b.client.StatObject(ctx, b.Bucket, b.blobKey(sha256), minio.StatObjectOptions{})
	if err != nil {
		return cas.Found{}, b.explain("blob "+sha256, err)
	}
	return cas.Found{SHA256: sha256, Size: info.Size, Modified: info.LastModified}, nil
}

// Walk lists possible blobs.
func (b *Bucket) Walk(ctx context.Context, yield func(cas.Found) bool) error {
	return b.list(ctx, blobsBelow, func(name string, o minio.ObjectInfo) bool {
		return yield(cas.Found{SHA256: name, Size: o.Size, Modified: o.LastModified})
	})
}

// list yields the objects below the prefix whose names start with below, with the rest of their names.
func (b *Bucket) list(ctx context.Context, below string, yield func(name string, o minio.ObjectInfo) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range b.client.ListObjectsIter(ctx, b.Bucket, minio.ListObjectsOptions{Prefix: b.key(below), Recursive: true}) {
		if o.Err != nil {
			return b.explain("list "+below, o.Err)
		}
		if !yield(strings.TrimPrefix(o.Key, b.key(below)), o) {
			return nil
		}
	}
	if err := ctx.Err(); err != nil {
		return b.explain("list "+below, err)
	}
	return nil
}

// CatalogID reads the object catalog_id.
func (b *Bucket) CatalogID(ctx context.Context) (string, error) {
	content, err := b.read(ctx, idName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSuffix(string(content), "\n"), err
}

const idName = "catalog_id"

// SetCatalogID writes the object catalog_id if there is none. Of concurrent calls a server that supports If-None-Match lets
// one win; the caller reads the result.
func (b *Bucket) SetCatalogID(ctx context.Context, id string) error {
	there, err := b.CatalogID(ctx)
	if err != nil || there != "" {
		return err
	}
	var only minio.PutObjectOptions
	only.SetMatchETagExcept("*")
	err = b.writeID(ctx, id, only)
	var answer minio.ErrorResponse
	if errors.As(err, &answer) && (answer.StatusCode == http.StatusPreconditionFailed || answer.StatusCode == http.StatusConflict) {
		return retry(ctx, func() error { return b.haveCatalogID(ctx) })
	}
	return err
}

// haveCatalogID fails as transient while the one of another host is not readable yet.
func (b *Bucket) haveCatalogID(ctx context.Context) error {
	id, err := b.CatalogID(ctx)
	if err == nil && id == "" {
		err = &failure{fmt.Sprintf("blob store %s: another host is about to say which catalog it belongs to; try again", b), fs.ErrNotExist, blob.ErrTransient}
	}
	return err
}

// ChangeCatalogID replaces the identity.
func (b *Bucket) ChangeCatalogID(ctx context.Context, id string) error {
	return b.writeID(ctx, id, minio.PutObjectOptions{})
}

// writeID writes the object catalog_id and reads it back: a server that alters it would not keep blobs either. The altered
// object is removed, so that the prefix is as before.
func (b *Bucket) writeID(ctx context.Context, id string, options minio.PutObjectOptions) error {
	if err := b.write(ctx, idName, []byte(id+"\n"), options); err != nil {
		return err
	}
	content, err := b.read(ctx, idName)
	got := string(content)
	if err != nil || got == id+"\n" || !strings.Contains(got, id) { // for another id the caller names its owner
		return err
	}
	return errors.Join(
		fmt.Errorf("blob store %s: the server does not keep what is put there: the object catalog_id was written as %q and reads as %q; use another server, or https in the endpoint", b, id+"\n", got),
		b.remove(ctx, idName))
}
