package stores

import (
	"context"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// OpenQueue opens the queue in the database of the catalog.
func (st *Stores) OpenQueue(ctx context.Context) (queue.Queue, error) {
	if st.driver == nil {
		return nil, &request.Error{Err: drivers.ErrNoQueue}
	}
	return st.driver.OpenQueue(ctx, st.Catalog, st.Host.Log)
}

// HasQueue reports whether the catalog can have a queue: whether it is in PostgreSQL.
func (s Settings) HasQueue() bool { return s.db.driver != nil }

// MigrateCatalog brings the schema of a catalog that can have a queue to the version of this program.
func (s Settings) MigrateCatalog(ctx context.Context) (before, after int64, err error) {
	return s.db.driver.Migrate(ctx, s.db.url)
}

// MigrateQueue brings the tables of the queue to the version of this program.
func (s Settings) MigrateQueue(ctx context.Context) (before, after int, err error) {
	return s.db.driver.MigrateQueue(ctx, s.db.url)
}
