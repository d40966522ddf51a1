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
)

func init() {
	drivers.Register(drivers.Drivers{
		Databases: map[string]drivers.Database{"postgres": Postgres{}, "postgresql": Postgres{}},
		Buckets:   map[string]func(string) (drivers.Bucket, error){"s3": parseBucket},
	})
}

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

func parseBucket(url string) (drivers.Bucket, error) {
	l, err := s3.ParseLocation(url)
	return Bucket{l}, err
}

// Postgres opens catalogs in PostgreSQL.
type Postgres struct{}

// Check returns why a URL cannot be that of a catalog.
func (Postgres) Check(url string) error { return postgres.Check(url) }

// Hosts are the hosts of a URL or its defaults.
func (Postgres) Hosts(url string) []string { return postgres.Hosts(url) }

// Open opens a catalog.
func (Postgres) Open(ctx context.Context, url string) (catalog.Database, error) {
	c, err := postgres.Open(ctx, url)
	if err != nil {
		return nil, err // as above
	}
	return c, nil
}

// Migrate brings the schema of a catalog to the version of this program.
func (Postgres) Migrate(ctx context.Context, url string) (before, after int64, err error) {
	return postgres.Migrate(ctx, url)
}

// OpenQueue opens the queue in the database of a catalog.
func (Postgres) OpenQueue(ctx context.Context, c catalog.Catalog, log *slog.Logger) (queue.Queue, error) {
	return riverqueue.Open(ctx, c.(*postgres.Catalog), log) // as Open returns it
}

// MigrateQueue brings the tables of the queue to the version of this program.
func (Postgres) MigrateQueue(ctx context.Context, url string) (before, after int, err error) {
	c, err := postgres.Open(ctx, url)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return riverqueue.Migrate(ctx, c)
}
