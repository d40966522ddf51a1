// Package remote registers the drivers of PostgreSQL and S3.
package remote

import (
	"context"
	"errors"
	"log/slog"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/s3"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres/riverqueue"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

func init() { drivers.Register(remote{}) }

type remote struct{}

// Bucket is a bucket of S3.
type Bucket struct{ s3.Location }

// Host returns the server's name or address.
func (b Bucket) Host() string {
	opened, err := s3.Open(b.Location)
	if err != nil {
		return ""
	}
	return opened.Host()
}

// ID returns the endpoint and the URL.
func (b Bucket) ID() string { return b.Endpoint + "\n" + b.String() }

// Open opens the bucket.
func (b Bucket) Open() (blob.Remote, error) {
	bucket, err := s3.Open(b.Location)
	if err != nil {
		return nil, err // not a nil pointer in an interface
	}
	return bucket, nil
}

func (remote) ParseBucket(url string) (drivers.Bucket, error) {
	l, err := s3.ParseLocation(url)
	return Bucket{l}, err
}

func (remote) CheckDatabase(url string) error { return postgres.Check(url) }

func (remote) DatabaseHosts(url string) []string { return postgres.Hosts(url) }

func (remote) OpenCatalog(ctx context.Context, url string) (catalog.Database, error) {
	c, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err // as above
	}
	return c, nil
}

func (remote) MigrateCatalog(ctx context.Context, url string) (before, after int64, err error) {
	return postgres.Migrate(ctx, url)
}

func (remote) OpenQueue(ctx context.Context, c catalog.Catalog, log *slog.Logger) (queue.Queue, error) {
	own, ok := c.(*postgres.Catalog)
	if !ok {
		return nil, &request.Error{Err: drivers.ErrNoQueue}
	}
	return riverqueue.Open(ctx, own, log)
}

func (remote) MigrateQueue(ctx context.Context, url string) (before, after int, err error) {
	c, err := postgres.Open(ctx, url)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return riverqueue.Migrate(ctx, c)
}
