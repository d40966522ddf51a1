// Package postgres keeps the catalog in a PostgreSQL database, in the schema "scidex_oci".
//
// It uses no session state: no prepared statements, no settings but those of a transaction, no locks that outlive one. So it
// works through PgBouncer in transaction mode. A handle connects on use and disconnects when idle for a moment, so that no
// connection is held while an analysis runs.
package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// timeout bounds the wait of a commit for an unreachable server, and of any write for a row that another process has locked.
const timeout = 60 * time.Second

// writers is the maximum of open write transactions of a handle; more of them wait.
const writers = 8

// Catalog is a catalog.Catalog in a PostgreSQL database.
type Catalog struct {
	relational.Catalog
	pool *pgxpool.Pool
	to   server
	// writing holds a token for each write of this handle that is under way.
	writing chan struct{}
	// timeout bounds the wait for a server that went away.
	timeout time.Duration
}

var _ catalog.Catalog = (*Catalog)(nil)

// Open opens the catalog in the database at a URL (postgres://USER@HOST:PORT/DATABASE, libpq's "Connection URIs"); missing
// parts come from PGHOST and the like, the files of PGPASSFILE and PGSERVICEFILE, and PostgreSQL's defaults. A missing or
// older schema is made or migrated if the role may do so, a newer one is refused. No error shows a password.
func Open(ctx context.Context, url string) (*Catalog, error) {
	return openAs(ctx, url, whereAllowed)
}

// Migrate brings the schema of the database at a URL to the newest version and returns the versions before and
// after.
func Migrate(ctx context.Context, url string) (before, after int64, err error) {
	schema, err := migrations.Postgres()
	if err != nil {
		return 0, 0, fmt.Errorf("migrate the catalog: %w", err)
	}
	c, err := connect(ctx, url)
	if err != nil {
		return 0, 0, fmt.Errorf("migrate the catalog: %w", err)
	}
	defer c.pool.Close()
	if before, after, err = c.upToDate(ctx, schema); err != nil {
		return before, after, fmt.Errorf("migrate the catalog at %s: %w", c.to, c.explain(err))
	}
	return before, after, nil
}

func openAs(ctx context.Context, url string, notAllowed func(error) error) (*Catalog, error) {
	schema, err := migrations.Postgres()
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	return open(ctx, url, schema, notAllowed)
}

func open(ctx context.Context, url string, schema fs.FS, notAllowed func(error) error) (*Catalog, error) {
	c, err := connect(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	if _, _, err := c.upToDate(ctx, schema); err != nil {
		c.pool.Close()
		return nil, fmt.Errorf("open catalog at %s: %w", c.to, c.explain(notAllowed(err)))
	}
	return c, nil
}

// connect makes a handle. It does not connect yet.
func connect(ctx context.Context, url string) (*Catalog, error) {
	config, err := configOf(url)
	if err != nil {
		return nil, err
	}
	to := serverOf(config.ConnConfig)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", to, err)
	}
	c := &Catalog{pool: pool, to: to, writing: make(chan struct{}, writers), timeout: timeout}
	c.Catalog = relational.New(database{c}, dialect)
	return c, nil
}

// CatalogID returns the identity that was made with the database.
func (c *Catalog) CatalogID(ctx context.Context) (string, error) {
	var id string
	err := c.readRow(ctx, `SELECT value FROM scidex_oci.catalog_meta WHERE key = 'catalog_id'`, &id)
	if err != nil {
		return "", fmt.Errorf("catalog at %s: read its id: %w", c.to, c.explain(err))
	}
	return id, nil
}

// Close disconnects.
func (c *Catalog) Close() error {
	c.pool.Close()
	return nil
}
