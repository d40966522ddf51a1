// Package sqlite keeps the catalog in one SQLite file that many processes share: a write-ahead log, or a rollback journal if the
// file system's blocks are small, every commit synced, and a write lock that is taken before a write reads anything.
//
// SQLite's locks need shared memory between the processes: the file must be on a local file system.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// timeout bounds the wait for a lock that another process holds.
const timeout = 60 * time.Second

// Catalog is a catalog.Catalog in a SQLite file.
type Catalog struct {
	relational.Catalog
	db    *sql.DB
	path  string
	named *named
	// writing holds one token while this handle writes, so that its goroutines queue here and only processes contend for the
	// file.
	writing chan struct{}
	locker  locker // of the token's holder
	// timeout bounds the wait for the write lock of the file.
	timeout time.Duration
}

var _ catalog.Database = (*Catalog)(nil)

// Open opens the catalog at path and makes a missing one, mode 0600; the directory must exist. An older schema is
// migrated after a backup next to it (path + ".bak-v<version>"), a newer one is refused. Several processes may open a
// path that does not exist yet at the same time.
func Open(ctx context.Context, path string) (*Catalog, error) {
	return OpenIf(ctx, path, func(context.Context) error { return nil })
}

// OpenIf is Open, but if there is no file, or no catalog in it, it calls allowNew first and returns its error. If
// another process makes the catalog in between, it opens that one.
func OpenIf(ctx context.Context, path string, allowNew func(context.Context) error) (*Catalog, error) {
	schema, err := migrations.SQLite()
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	return open(ctx, path, schema, allowNew)
}

func open(ctx context.Context, path string, schema fs.FS, allowNew func(context.Context) error) (*Catalog, error) {
	if err := checkNew(ctx, path, allowNew); err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	absolute, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("open catalog %q: %w", path, err)
	}
	file := &named{path: absolute, journal: journalOn(absolute)}
	if file.journal == rollingBack {
		if err := file.leaveLog(ctx); err != nil {
			return nil, fmt.Errorf("open catalog %q: leave its write-ahead log: %w", path, explainAt(absolute, err))
		}
	}
	db := file.open(lockDeferred)
	if err := upToDate(ctx, migration{db: db, named: file, schema: schema, allowNew: allowNew}); err != nil {
		_ = db.Close() // the first error counts
		return nil, fmt.Errorf("open catalog %q: %w", path, explainAt(absolute, err))
	}
	c := &Catalog{db: db, path: path, named: file, writing: make(chan struct{}, 1), timeout: timeout}
	c.Catalog = relational.New(database{c}, dialect)
	return c, nil
}

// checkNew calls allowNew if path has no bytes yet. allowNew may see traces of a catalog that another process made since, so
// its error counts only while path is still empty.
func checkNew(ctx context.Context, path string, allowNew func(context.Context) error) error {
	if !vacant(path) {
		return nil
	}
	if err := allowNew(ctx); err != nil && vacant(path) {
		return err
	}
	return nil
}

// vacant reports whether path is missing or an empty file. prepareFile reports other errors.
func vacant(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && info.Size() == 0
}

// QuickCheck reads the whole database and returns what is wrong with its structure, one line each, at most 100.
func (c *Catalog) QuickCheck(ctx context.Context) (damage []string, err error) {
	rows, err := c.db.QueryContext(ctx, `PRAGMA quick_check`)
	if err != nil {
		return nil, fmt.Errorf("catalog %q: check it: %w", c.path, explain(err))
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return nil, fmt.Errorf("catalog %q: check it: %w", c.path, explain(err))
		}
		damage = append(damage, faults(line)...)
	}
	if err := rows.Err(); err != nil {
		return damage, fmt.Errorf("catalog %q: check it: %w", c.path, explain(err))
	}
	return damage, nil
}

// faults are those in a row of PRAGMA quick_check, which may have several below a headline, or "ok".
func faults(row string) (found []string) {
	for line := range strings.SplitSeq(row, "\n") {
		if line != "" && line != "ok" && !strings.HasPrefix(line, "***") {
			found = append(found, line)
		}
	}
	return found
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

// Close releases the handle. The last one of all processes checkpoints the write-ahead log into the file.
func (c *Catalog) Close() error {
	if err := c.db.Close(); err != nil {
		return fmt.Errorf("close catalog %q: %w", c.path, explain(err))
	}
	return nil
}
