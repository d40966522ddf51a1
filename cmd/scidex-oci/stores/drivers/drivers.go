// Package drivers has what opens stores on other hosts, by the scheme of their URLs: catalogs in databases, and blob stores in buckets.
// A program has it if it imports package remote; the program scidex-oci does not, and starts faster and takes less memory for it.
package drivers

import (
	"context"
	"errors"
	"log/slog"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// Database opens catalogs in databases of one kind. Their URLs may hold passwords.
type Database interface {
	// Check contacts no server.
	Check(url string) error
	Hosts(url string) []string
	Open(ctx context.Context, url string) (catalog.Database, error)
	Migrate(ctx context.Context, url string) (before, after int64, err error)
	// OpenQueue opens the queue in the database of a catalog that Open has opened.
	OpenQueue(ctx context.Context, c catalog.Catalog, log *slog.Logger) (queue.Queue, error)
	MigrateQueue(ctx context.Context, url string) (before, after int, err error)
}

// Bucket is the location of a blob store.
type Bucket interface {
	// ID has all that distinguishes the location from others, and no secret.
	ID() string
	// Host is the server's name or address; "" if that is not known.
	Host() string
	// Open contacts no server.
	Open() (blob.Remote, error)
}

// Drivers are those of a program, by scheme.
type Drivers struct {
	Databases map[string]Database
	// Buckets read URLs.
	Buckets map[string]func(url string) (Bucket, error)
}

// ErrNoQueue is returned if the catalog is in SQLite, which has no queue.
var ErrNoQueue = errors.New("the queue is in PostgreSQL, and this catalog is a SQLite file; give --db postgres://USER@HOST:PORT/DATABASE or set SCIDEX_OCI_DB")

// ErrMissing is returned by Get in a program without drivers.
var ErrMissing = errors.New("this program opens no stores on other hosts")

var registered *Drivers

// Register sets what Get returns, from an init function.
func Register(d Drivers) { registered = &d }

// Get returns the drivers of this program, or ErrMissing.
func Get() (Drivers, error) {
	if registered == nil {
		return Drivers{}, ErrMissing
	}
	return *registered, nil
}
