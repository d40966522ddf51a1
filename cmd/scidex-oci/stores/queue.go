package stores

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres/riverqueue"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// OpenQueue opens the queue in the database of the catalog.
func (st *Stores) OpenQueue(ctx context.Context) (queue.Queue, error) {
	c, ok := st.Catalog.(*postgres.Catalog)
	if !ok {
		return nil, &request.Error{Err: ErrNoQueue}
	}
	return riverqueue.Open(ctx, c, st.Host.Log)
}

// ErrNoQueue is returned where the catalog is in SQLite, which has no queue.
var ErrNoQueue = errors.New("the queue is in PostgreSQL, and this catalog is a SQLite file; give --db postgres://USER@HOST:PORT/DATABASE or set SCIDEX_OCI_DB")

// HasQueue reports whether the catalog can have a queue: whether it is in PostgreSQL.
func (s Settings) HasQueue() bool { return s.db.url != "" }

// MigrateCatalog brings the schema of a catalog in PostgreSQL to the version of this program.
func (s Settings) MigrateCatalog(ctx context.Context) (before, after int64, err error) {
	return postgres.Migrate(ctx, s.db.url)
}

// MigrateQueue brings the tables of the queue to the version of this program.
func (s Settings) MigrateQueue(ctx context.Context) (before, after int, err error) {
	c, err := postgres.Open(ctx, s.db.url)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return riverqueue.Migrate(ctx, c)
}
