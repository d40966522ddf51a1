package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// sample is a run as small as it may be.
func sample(id string) catalog.Run {
	return catalog.Run{
		Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running},
		CreatedAt: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), Labels: map[string]string{"k": "v"},
	}
}

// execute runs SQL on a file directly.
func execute(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), query)
	must(t, errors.Join(err, db.Close()))
}

// next is the schema with one more migration, and its version.
func next(t *testing.T, up string) (fstest.MapFS, int64) {
	t.Helper()
	released, err := migrations.SQLite()
	must(t, err)
	version, err := migrations.Latest(released)
	must(t, err)
	schema := fstest.MapFS{}
	must(t, fs.WalkDir(released, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(released, name)
		schema[name] = &fstest.MapFile{Data: text}
		return err
	}))
	schema[fmt.Sprintf("%05d_next.sql", version+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + up)}
	return schema, version + 1
}

func TestMigrate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	old := opened(t, path) // stays open, as a long run's does
	must(t, old.Create(t.Context(), sample("before")))
	id, err := old.CatalogID(t.Context())
	must(t, err)

	schema, version := next(t, `ALTER TABLE analysis_run ADD COLUMN noted INTEGER NOT NULL DEFAULT 0;`)
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wg.Go(func() { errs[i] = useNext(t.Context(), path, schema, id) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	must(t, old.Create(t.Context(), sample("after")))

	backup := fmt.Sprintf("%s.bak-v%d", path, version-1)
	want := []string{"catalog.db", "catalog.db-shm", "catalog.db-wal", filepath.Base(backup), "catalog.db.lock"}
	if got := names(t, filepath.Dir(path)); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	info, err := os.Stat(backup)
	must(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the backup has the mode %s, want -rw-------", info.Mode())
	}
	restored := opened(t, backup) // by a program that knows the old version
	if _, err := restored.Get(t.Context(), catalog.Key{ID: "before"}); err != nil {
		t.Error(err)
	}
	if again, err := restored.CatalogID(t.Context()); err != nil || again != id {
		t.Errorf("the backup has the catalog id %q, %v, want %q", again, err, id)
	}

	_, err = Open(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d and this program knows versions up to %d", version, version-1)) {
		t.Errorf("a newer catalog: error = %v", err)
	}
}

// useNext opens the database with the newer schema and uses what it adds.
func useNext(ctx context.Context, path string, schema fs.FS, id string) error {
	c, err := open(ctx, path, schema, anyone)
	if err != nil {
		return err
	}
	var noted int
	err = c.db.QueryRowContext(ctx, `SELECT noted FROM analysis_run WHERE id = 'before'`).Scan(&noted)
	again, idErr := c.CatalogID(ctx)
	if again != id {
		idErr = errors.Join(idErr, fmt.Errorf("catalog id %q, want %q", again, id))
	}
	return errors.Join(err, idErr, c.Close())
}

func TestMigrationThatBreaks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	must(t, opened(t, path).Create(t.Context(), sample("a")))
	broken, version := next(t, "CREATE TABLE half (x INTEGER) STRICT;\nCREATE TABLE half (x INTEGER) STRICT;")
	for range 2 {
		c, err := open(t.Context(), path, broken, anyone)
		if err == nil {
			must(t, c.Close())
			t.Fatal("a broken migration passed")
		}
		if want := fmt.Sprintf("migrate from version %d to %d", version-1, version); !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want one that says %q", err, want)
		}
	}
	for _, file := range []string{path, fmt.Sprintf("%s.bak-v%d", path, version-1)} {
		if _, err := opened(t, file).Get(t.Context(), catalog.Key{ID: "a"}); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	// Once the migration is corrected, it succeeds.
	mended, _ := next(t, `CREATE TABLE half (x INTEGER) STRICT;`)
	c, err := open(t.Context(), path, mended, anyone)
	must(t, err)
	must(t, c.Close())
}

// A process that died between making goose's table and the first migration left this.
func TestOpenHalfMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	execute(t, path, `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
		INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
	must(t, opened(t, path).Create(t.Context(), sample("a")))
}

// Someone turned write-ahead logging off with another tool.
func TestOpenTurnsLogOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c, err := Open(t.Context(), path)
	must(t, err)
	must(t, c.Close())
	execute(t, path, `PRAGMA journal_mode = DELETE`)
	var mode string
	must(t, opened(t, path).db.QueryRowContext(t.Context(), `PRAGMA journal_mode`).Scan(&mode))
	if mode != "wal" {
		t.Errorf("journal mode %q, want wal", mode)
	}
}

// An up-to-date catalog is opened without the lock, and so without goose.
func TestOpenCheaply(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	opened(t, path)
	must(t, os.Remove(path+".lock"))
	opened(t, path)
	if _, err := os.Stat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock was taken: %v", err)
	}
}

func TestConnectionSettings(t *testing.T) {
	c := opened(t, filepath.Join(t.TempDir(), "catalog.db"))
	must(t, c.Create(t.Context(), sample("a"))) // puts back the busy timeout
	for pragma, want := range map[string]string{
		"synchronous": "3", "foreign_keys": "1", "busy_timeout": "60000", "journal_mode": "wal",
	} {
		var got string
		must(t, c.db.QueryRowContext(t.Context(), `PRAGMA `+pragma).Scan(&got))
		if got != want {
			t.Errorf("PRAGMA %s = %s, want %s", pragma, got, want)
		}
	}
}
