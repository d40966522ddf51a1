package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// The journal modes (sqlite.org/pragma.html#pragma_journal_mode). With a write-ahead log, SQLite maps an index, the -shm file, and
// makes it with holes if blocks are smaller than 4 KiB: a write to a hole when no block is free is SIGBUS. On such a file system
// the catalog has a rollback journal instead, with which readers and a commit wait for each other.
const (
	writeAhead  = "wal"
	rollingBack = "delete"
	indexPage   = 4 << 10
)

// journalOn returns the journal mode for the file system of an existing file.
func journalOn(path string) string {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err == nil && fs.Bsize < indexPage {
		return rollingBack
	}
	return writeAhead
}

// leaveLog converts a catalog with a write-ahead log, which an earlier version or another file system left, to a rollback journal, under
// the lock of migrations. In the exclusive locking mode SQLite maps no index, so that a full file system is an error.
func (n *named) leaveLog(ctx context.Context) (err error) {
	db := n.open(lockExclusive)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	var mode string
	if err := db.QueryRowContext(ctx, `PRAGMA journal_mode`).Scan(&mode); err != nil || mode != writeAhead {
		return err
	}
	unlock, err := n.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return n.setJournal(ctx, db)
}

// setJournal sets the journal mode, which stays with the file. It needs exclusive access for a moment and does not wait for it.
func (n *named) setJournal(ctx context.Context, db *sql.DB) error {
	return retryBusy(ctx, time.Now().Add(timeout), func() error {
		var mode string
		if err := db.QueryRowContext(ctx, `PRAGMA journal_mode = `+n.journal).Scan(&mode); err != nil {
			return err
		}
		if mode != n.journal {
			return fmt.Errorf("the journal mode stays %q, not %q: the file system has no shared memory; choose a local one", mode, n.journal)
		}
		return nil
	})
}

// reading passes what read yields on to yield. With a rollback journal nobody can commit while read's transaction is open, so
// everything is read first.
func reading[T any](ctx context.Context, journal string, yield func(T) bool, read func(yield func(T) bool) error) error {
	if journal == writeAhead {
		return read(yield)
	}
	var all []T
	if err := read(func(value T) bool { all = append(all, value); return true }); err != nil {
		return err
	}
	for _, value := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !yield(value) {
			return nil
		}
	}
	return ctx.Err()
}

// Outputs streams the entries of a run as of the call.
func (c *Catalog) Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error {
	return reading(ctx, c.named.journal, yield, func(yield func(outputs.Entry) bool) error { return c.Catalog.Outputs(ctx, key, yield) })
}

// FindOutputs streams the outputs of any run.
func (c *Catalog) FindOutputs(ctx context.Context, query catalog.OutputQuery, yield func(catalog.FoundOutput) bool) error {
	return reading(ctx, c.named.journal, yield, func(yield func(catalog.FoundOutput) bool) error { return c.Catalog.FindOutputs(ctx, query, yield) })
}

// Digests streams the digests that runs name.
func (c *Catalog) Digests(ctx context.Context, yield func(sha256 string) bool) error {
	return reading(ctx, c.named.journal, yield, func(yield func(string) bool) error { return c.Catalog.Digests(ctx, yield) })
}
