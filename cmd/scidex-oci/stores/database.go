package stores

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
)

// database is the location of a catalog: a SQLite file, or a URL, which may hold a password, with the driver for it.
type database struct {
	file, url string
	driver    drivers.Database // nil: in file
}

// databaseFor is the database that the global options name.
func databaseFor(t options.Text, root string) (database, error) {
	if !t.Given {
		return database{file: filepath.Join(root, "catalog.db")}, nil // is looked at with the root
	}
	return databaseAt(t)
}

// databaseAt is the database that an option names.
func databaseAt(t options.Text) (database, error) {
	k, rest, err := kindOf(t, databases)
	if err != nil {
		return database{}, err
	}
	if k.local {
		file := options.Absolute(t.Dir, rest)
		return database{file: file}, checkTrusted(t, file)
	}
	all, err := drivers.Get()
	if err != nil {
		return database{}, err
	}
	d := database{url: t.Value, driver: all.Databases[k.scheme]}
	if err := d.driver.Check(d.url); err != nil {
		return database{}, fmt.Errorf("%s %q: %w", t.Label, redacted(t.Value), err)
	}
	return d, nil
}

// open opens the catalog and makes what is missing of it.
func (d database) open(ctx context.Context) (catalog.Database, error) {
	return d.openIf(ctx, func(context.Context) error { return nil })
}

// openIf is open, but asks allowNew before it makes a file.
func (d database) openIf(ctx context.Context, allowNew func(context.Context) error) (catalog.Database, error) {
	if d.driver != nil {
		return d.driver.Open(ctx, d.url)
	}
	if err := makeTrusted(filepath.Dir(d.file)); err != nil {
		return nil, err
	}
	c, err := sqlite.OpenIf(ctx, d.file, allowNew)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// private are the files that no analysis may be given.
func (d database) private() []string {
	if d.file == "" {
		return nil
	}
	return []string{d.file, d.file + "-wal", d.file + "-shm", d.file + "-journal"}
}

// hosts are those of a database, and directories of sockets; nil for a file. They may come from PGHOST or a service file.
func (d database) hosts() []string {
	if d.driver == nil {
		return nil
	}
	return d.driver.Hosts(d.url)
}
