package stores

import (
	"context"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// OpenQueue opens the queue in the database of the catalog.
func (st *Stores) OpenQueue(ctx context.Context) (queue.Queue, error) {
	d, err := drivers.Get()
	if err != nil {
		return nil, err
	}
	return d.OpenQueue(ctx, st.Catalog, st.Host.Log)
}

// HasQueue reports whether the catalog can have a queue: whether it is in PostgreSQL.
func (s Settings) HasQueue() bool { return s.db.url != "" }

// MigrateCatalog brings the schema of a catalog in PostgreSQL to the version of this program.
func (s Settings) MigrateCatalog(ctx context.Context) (before, after int64, err error) {
	d, err := drivers.Get()
	if err != nil {
		return 0, 0, err
	}
	return d.MigrateCatalog(ctx, s.db.url)
}

// MigrateQueue brings the tables of the queue to the version of this program.
func (s Settings) MigrateQueue(ctx context.Context) (before, after int, err error) {
	d, err := drivers.Get()
	if err != nil {
		return 0, 0, err
	}
	return d.MigrateQueue(ctx, s.db.url)
}
