package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
)

// applicationID marks a catalog in the header of its file; the first migration sets it.
const applicationID = 0x53636944

// inspection decides whether a database can be used as it is.
type inspection struct {
	application int64
	tables      int64 // those of other programs or of the catalog, not goose's own
	version     int64 // the newest applied migration; 0 if none
	journal     string
}

// upToDate migrates the database to the newest schema of m. An up-to-date database costs a few reads and no lock.
func upToDate(ctx context.Context, m migration) (err error) {
	if m.latest, err = migrations.Latest(m.schema); err != nil {
		return err
	}
	found, err := inspect(ctx, m.db)
	if err != nil {
		return err
	}
	current, err := found.current(m.latest, m.journal)
	if err != nil || current {
		return err
	}
	return migrate(ctx, m)
}

// inspect reads everything in one snapshot: another process may be migrating.
func inspect(ctx context.Context, db *sql.DB) (found inspection, err error) {
	err = snapshot(ctx, db, func(tx *sql.Tx) error {
		found, err = inspectIn(ctx, tx)
		return err
	})
	return found, err
}

func inspectIn(ctx context.Context, tx *sql.Tx) (inspection, error) {
	var found inspection
	var versioned bool
	err := tx.QueryRowContext(ctx, `SELECT
		(SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('goose_db_version', 'sqlite_sequence')),
		EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version')`).
		Scan(&found.application, &found.tables, &versioned)
	if err != nil {
		return found, err
	}
	if err := tx.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&found.journal); err != nil {
		return found, err
	}
	if versioned {
		err = tx.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&found.version)
	}
	return found, err
}

// current reports whether nothing must be done, and refuses databases that must not be changed.
func (i inspection) current(latest int64, journal string) (bool, error) {
	switch {
	case i.application != applicationID && (i.application != 0 || i.tables > 0 || i.version > 0):
		return false, errors.New("this is the SQLite database of another program; name another file")
	case i.version > latest:
		return false, migrations.Newer(i.version, latest)
	default:
		return i.version == latest && i.journal == journal, nil
	}
}
