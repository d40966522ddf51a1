package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pressly/goose/v3"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
)

// migration goes to the latest version.
type migration struct {
	db *sql.DB
	*named
	schema fs.FS
	latest int64
	// allowNew says why no new catalog may be made.
	allowNew func(context.Context) error
}

// migrate brings the database to the latest version under a lock. A process that waited for the lock finds the work done.
func migrate(ctx context.Context, m migration) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	found, err := inspect(ctx, m.db)
	if err != nil {
		return err
	}
	if current, err := found.current(m.latest, m.journal); err != nil || current {
		return err
	}
	if found.version == 0 {
		if err := m.allowNew(ctx); err != nil {
			return err
		}
	}
	if found.version > 0 && found.version < m.latest {
		if err := m.backup(ctx, found.version); err != nil {
			return fmt.Errorf("back up version %d before migrating it: %w", found.version, err)
		}
	}
	if err := m.setJournal(ctx, m.db); err != nil {
		return fmt.Errorf("set the journal mode: %w", err)
	}
	if err := m.up(ctx); err != nil {
		return fmt.Errorf("migrate from version %d to %d: %w", found.version, m.latest, err)
	}
	return nil
}

// lock takes the lock of the file, for what changes all of it.
func (n *named) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = lock(ctx, n.path, timeout)
	if errors.Is(err, errHeld) {
		return nil, fmt.Errorf("another process has been writing to it or migrating it for %s (%w); try again when it is done", timeout, err)
	}
	return unlock, err
}

// up applies the migrations, each in a transaction that locks at once.
func (m migration) up(ctx context.Context) (err error) {
	db := m.open(lockImmediate)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, m.schema, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// backup copies the database to a file next to it. It replaces a copy of the same version from an earlier attempt,
// which has no more than this one.
func (m migration) backup(ctx context.Context, version int64) error {
	final := fmt.Sprintf("%s.bak-v%d", m.path, version)
	part := final + ".part"
	// SQLite writes into an empty file, which thus has its mode from the first byte, and does not sync it (lang_vacuum.html).
	return atomicfile.Write(final, part, atomicfile.Durable, func(*os.File) error {
		_, err := m.db.ExecContext(ctx, `VACUUM INTO ?`, part)
		return err
	})
}
