// Package migrations holds the schema of the catalog as goose migrations, one directory for each SQL dialect. A
// released migration never changes, and there are none back: the way back is the backup that is made before an update.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed sqlite/*.sql postgres/*.sql
var files embed.FS

// SQLite returns the migrations of the SQLite dialect.
func SQLite() (fs.FS, error) { return fs.Sub(files, "sqlite") }

// Postgres returns the migrations of the PostgreSQL dialect. They are in the schema "scidex_oci", which must exist.
func Postgres() (fs.FS, error) { return fs.Sub(files, "postgres") }

// Latest returns the highest version among the migrations at the root of fsys. It reads names only,
// so that a program that finds its database up to date need not parse any.
func Latest(fsys fs.FS) (int64, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return 0, err
	}
	var latest int64
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("migration %q: %w", name, err)
		}
		latest = max(latest, version)
	}
	if latest == 0 {
		return 0, fmt.Errorf("no migrations: %w", fs.ErrNotExist)
	}
	return latest, nil
}

// Newer refuses a database of a newer version than this program knows.
func Newer(version, latest int64) error {
	return fmt.Errorf("its schema has version %d and this program knows versions up to %d; use the newer scidex-oci that wrote it", version, latest)
}
