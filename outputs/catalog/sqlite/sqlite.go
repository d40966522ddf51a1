// Package sqlite keeps the catalog in one SQLite file that many processes share: write-ahead logging,
// every commit synced, and a write lock that is taken before anything is read for a write.
//
// SQLite's locks need shared memory between the processes: the file must be on a local file system.
package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"time"

	// The driver registers itself as "sqlite3".
	_ "github.com/mattn/go-sqlite3"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
)

// patience is how long a lock that another process holds is waited for.
const patience = 60 * time.Second

// Catalog is a catalog.Catalog in a SQLite file.
type Catalog struct {
	db   *sql.DB
	path string
	// writing holds one token while a write of this handle is under way, so that its goroutines queue
	// here and only processes contend for the file.
	writing chan struct{}
	turns   turns // of whoever has the token
	// patience bounds the wait for the write lock of the file.
	patience time.Duration
}

var _ catalog.Catalog = (*Catalog)(nil)

// Open opens the catalog at path and makes it, mode 0600, where there is none; the directory must
// exist. An older schema is migrated after a backup beside it (path + ".bak-v<version>"), a newer one
// is refused. Several processes may open a path that does not exist yet at the same time.
func Open(ctx context.Context, path string) (*Catalog, error) {
	schema, err := migrations.SQLite()
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	return open(ctx, path, schema)
}

func open(ctx context.Context, path string, schema fs.FS) (*Catalog, error) {
	absolute, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	db, err := sql.Open("sqlite3", dsn(absolute, lockDeferred))
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	if err := upToDate(ctx, db, absolute, schema); err != nil {
		_ = db.Close() // the first error is the one to tell
		return nil, fmt.Errorf("open catalog %q: %w", path, explainAt(absolute, err))
	}
	return &Catalog{db: db, path: path, writing: make(chan struct{}, 1), patience: patience}, nil
}

// CatalogID returns the identity that was made with the database.
func (c *Catalog) CatalogID(ctx context.Context) (string, error) {
	var id string
	err := c.db.QueryRowContext(ctx, `SELECT value FROM catalog_meta WHERE key = 'catalog_id'`).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("catalog %q: read its id: %w", c.path, explainAt(c.path, err))
	}
	return id, nil
}

// Close releases the handle. The last one of all processes also folds the write-ahead log into the
// file.
func (c *Catalog) Close() error {
	if err := c.db.Close(); err != nil {
		return fmt.Errorf("close catalog %q: %w", c.path, explain(err))
	}
	return nil
}
