package sqlite

import (
	"errors"
	"fmt"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
)

// busy reports whether err is a lock that another connection holds.
func busy(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrBusy
}

// explainAt is explain for the file at path. If SQLite cannot make a file it only says that it cannot open it.
func explainAt(path string, err error) error {
	var e sqlite3.Error
	if errors.As(err, &e) && (e.Code == sqlite3.ErrCantOpen || e.Code == sqlite3.ErrFull) && inodes.UsedUp(path) {
		return fmt.Errorf("%s, and try again: %w", inodes.Advice, catalog.Transient(err))
	}
	return explain(err)
}

// explain adds advice, if there is any, to SQLite's errors.
func explain(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.SystemErrno == unix.ENOSPC && (e.Code == sqlite3.ErrIoErr || e.Code == sqlite3.ErrCantOpen) { // for its log, index and journal it has no code of its own
		e.Code = sqlite3.ErrFull
	}
	switch e.Code {
	case sqlite3.ErrNotADB:
		return fmt.Errorf("this file is not a SQLite database; name another: %w", err)
	case sqlite3.ErrCorrupt:
		return fmt.Errorf("the database is damaged; restore it from a backup: %w", err)
	case sqlite3.ErrFull:
		return fmt.Errorf("the file system is full; free some space and try again: %w", catalog.Transient(err))
	case sqlite3.ErrReadonly, sqlite3.ErrPerm, sqlite3.ErrCantOpen:
		return fmt.Errorf("the file or its directory cannot be written; make them writable for you: %w", err)
	case sqlite3.ErrBusy:
		return fmt.Errorf("another process has held the lock for %s; try again when it is done: %w", timeout, catalog.Transient(err))
	case sqlite3.ErrIoErr:
		return catalog.Transient(err)
	default:
		return err
	}
}
