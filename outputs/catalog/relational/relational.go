// Package relational is what the catalogs in SQL share: their statements, the mapping of rows, and the order in which a run is
// written and read. A dialect embeds its Catalog, adds how its database connects, writes and retries, and the few statements
// that its planner needs in another form.
package relational

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Database runs statements. Their text is PostgreSQL's, with the schema scidex_oci; a database that has no schemas, casts or
// row locks leaves them out.
type Database interface {
	// Reader is for one query, which is a snapshot of its own.
	Reader
	// Read runs do on a snapshot as of do's first query.
	Read(ctx context.Context, do func(from Reader) error) error
	// Write runs do in one transaction, with the context that its statements take. do's error undoes it.
	Write(ctx context.Context, do func(ctx context.Context, tx Tx) error) error
	// Explain adds advice to an error of the database.
	Explain(err error) error
}

// Reader reads rows.
type Reader interface {
	// Query calls yield for each row until it returns false.
	Query(ctx context.Context, yield func(row Row) (more bool, err error), sql string, args ...any) error
}

// Row is one row of a query.
type Row interface{ Scan(into ...any) error }

// Tx is a transaction that writes.
type Tx interface {
	Reader
	// Exec returns how many rows a statement changed.
	Exec(ctx context.Context, sql string, args ...any) (changed int64, err error)
	// Insert inserts the rows that next returns until io.EOF; any other error of next is returned as it is.
	Insert(ctx context.Context, table string, columns []string, next func() ([]any, error)) error
}

// Dialect is what a database has of its own.
type Dialect struct {
	// Moment is a time as stored, NULL for the zero time.
	Moment func(time.Time) any
	// Text makes a string storable.
	Text func(string) string
	// Holds reports whether the database can store a string as it is. No stored value equals one that it cannot.
	Holds func(string) bool
	// Contains is the term for a run whose id, or what it ran, contains a text: each of its two %s is that text.
	Contains string
	// OfAction is the term for a run whose report has an action_id, its %s.
	OfAction string
	// HasAction says that analysis_run has a column action_id; else an index has the expression.
	HasAction bool
	// AddLabel adds the term for a run that has a label.
	AddLabel func(ctx context.Context, from Reader, where *Where, key, value string) error
	// Outputs and OutputsOfDigest join analysis_run r and analysis_output o, by their ids.
	Outputs, OutputsOfDigest string
	// Digests selects the digests that outputs, logs and scripts need, sorted.
	Digests string
	// ByPath orders the entries of a run, and OfPath is the term for the path $3.
	ByPath, OfPath string
	// EventOrder is a column that orders events of one millisecond. Insert numbers it, unless it is SQLite's rowid.
	EventOrder string
}

// Catalog has the methods of catalog.Catalog that are the same in every dialect.
type Catalog struct {
	db Database
	d  Dialect
}

// New makes a Catalog.
func New(db Database, d Dialect) Catalog { return Catalog{db: db, d: d} }

// Label is how a person names a run: ID@ATTEMPT, or ID if the attempt is 0.
func Label(key catalog.Key) string {
	return catalog.Name{ID: key.ID, Attempt: key.Attempt}.String()
}

// one reads the only row of a query, or returns catalog.ErrNotFound. It reads to the end: otherwise PostgreSQL's
// connection would be closed.
func one(ctx context.Context, from Reader, scan func(Row) error, sql string, args ...any) error {
	found := false
	err := from.Query(ctx, func(row Row) (bool, error) {
		found = true
		return true, scan(row)
	}, sql, args...)
	if err == nil && !found {
		return catalog.ErrNotFound
	}
	return err
}

// moment reads a time, which SQLite has as text of fixed width; NULL is the zero time.
type moment struct{ at *time.Time }

// Layout is a time in SQLite: always UTC, so that texts sort as times.
const Layout = "2006-01-02T15:04:05.000Z"

// Scan is sql.Scanner.
func (m moment) Scan(from any) (err error) {
	switch v := from.(type) {
	case nil:
		*m.at = time.Time{}
	case time.Time:
		*m.at = v.UTC()
	case string:
		*m.at, err = time.Parse(Layout, v)
	default:
		err = errors.New("time in the catalog: this is none")
	}
	return err
}

// document reads JSON, empty for none.
type document struct{ into *json.RawMessage }

// Scan is sql.Scanner.
func (d document) Scan(from any) error {
	switch v := from.(type) {
	case nil:
		*d.into = nil
	case string:
		*d.into = json.RawMessage(v)
	default:
		return errors.New("document in the catalog: this is no text")
	}
	return nil
}
