package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mattn/go-sqlite3"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// errReplaced says that the file of the open connections has lost its name: what is written through them is lost.
var errReplaced = errors.New("has been removed, emptied or replaced since this command opened it; put it back, or a copy of it from a backup")

// named is the file that all connections of a Catalog are to: the one that had the name at the first of them.
type named struct {
	path    string // absolute
	journal string // its mode, by the file system

	mu   sync.Mutex
	file fs.FileInfo // nil before the first connection
	real string      // the path without links, next to which SQLite has the log
	full bool        // it was not empty, as a new one is

	// emptied is final: the close of a connection writes into the file what the log has.
	emptied bool
}

func (n *named) replaced() error { return fmt.Errorf("the file %q %w", n.path, errReplaced) }

// checkReplaced returns an error if the file no longer has the name.
func (n *named) checkReplaced() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := os.Stat(n.path)
	switch {
	case n.file == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return n.replaced()
	case err != nil:
		return err
	}
	if !os.SameFile(n.file, now) {
		return n.replaced()
	}
	n.emptied = n.emptied || n.full && now.Size() == 0
	n.full = now.Size() > 0
	if n.emptied {
		return n.replaced()
	}
	return nil
}

// note records the file after the first connection was opened: on an overlay, opening may change the inode.
func (n *named) note() (err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file != nil {
		return nil
	}
	if n.real, err = filepath.EvalSymlinks(n.path); err != nil {
		return err
	}
	n.file, err = os.Stat(n.real)
	return err
}

// log is the path of the write-ahead log.
func (n *named) log() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.real + "-wal"
}

// connector opens connections to a named file for database/sql.
type connector struct {
	*named
	lock string // of transactions, for dsn
}

// open returns a pool of connections to the file. lock is how BEGIN locks.
func (n *named) open(lock string) *sql.DB { return sql.OpenDB(connector{named: n, lock: lock}) }

// Driver is part of driver.Connector.
func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// Connect is part of driver.Connector. It checks the file first: SQLite would remove the log if the file is empty now,
// and write the log into another database.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	if err := c.checkReplaced(); err != nil {
		return nil, err
	}
	opened, err := c.Driver().Open(dsn(c.path, c.lock))
	if err != nil {
		return nil, cmp.Or(c.checkReplaced(), err)
	}
	if err := cmp.Or(c.note(), c.checkReplaced()); err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	conn, ok := opened.(*sqlite3.SQLiteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("SQLite's driver returned a %T", opened), opened.Close())
	}
	return &connection{SQLiteConn: conn, named: c.named}, nil
}

// connection is SQLite's, which is not used again once its file has lost its name.
type connection struct {
	*sqlite3.SQLiteConn
	named *named
}

// ResetSession is called by database/sql before it uses a connection again. After ErrBadConn it closes it and calls Connect.
func (c *connection) ResetSession(context.Context) error {
	if c.named.checkReplaced() != nil {
		return driver.ErrBadConn
	}
	return nil
}

// CheckReplaced returns an error if the name of the catalog is no longer that of its file: then what was committed is lost.
func (c *Catalog) CheckReplaced() error {
	if err := c.named.checkReplaced(); err != nil {
		return fmt.Errorf("catalog %q: %w", c.path, err)
	}
	return nil
}

// checkLog checks that the write-ahead log at its name has every page that SQLite's index counts in it: a log that was truncated
// or removed under this process has lost commits. A log that another program has just emptied (wal_checkpoint(TRUNCATE)) may
// look like it for a moment, so that the error is a transient one.
func (c *Catalog) checkLog(ctx context.Context, conn *sql.Conn) error {
	const header, frameHeader = 32, 24 // bytes (sqlite.org/fileformat2.html#the_write_ahead_log)
	var busy, pages, copied, pageSize int64
	if err := conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(NOOP)`).Scan(&busy, &pages, &copied); err != nil {
		return err
	}
	if pages <= 0 {
		return nil // empty, or there is none (-1)
	}
	if err := conn.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&pageSize); err != nil {
		return err
	}
	info, err := os.Stat(c.named.log())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && info.Size() >= header+pages*(frameHeader+pageSize) {
		return nil
	}
	return catalog.Transient(fmt.Errorf("its log %q has been truncated or removed; end all commands that use the catalog, and restore both from a backup", c.named.log()))
}
