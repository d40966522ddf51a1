package sqlite

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func going(id string) catalog.Run {
	return catalog.Run{Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: time.Unix(1, 0).UTC()}
}

// withRun opens a catalog in a new directory, with a run that goes on.
func withRun(t *testing.T) (c *Catalog, path string, run catalog.Run) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "catalog.db")
	c, err := Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	run = going("a")
	must(t, c.Create(t.Context(), run))
	return c, path, run
}

func none() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }

// TestReplaced: once its file has lost its name, a catalog reads and writes nothing, and makes no file; when the file
// is back, it goes on.
func TestReplaced(t *testing.T) {
	for name, replace := range map[string]func(path string) error{
		"removed":  func(string) error { return nil },
		"empty":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"another":  func(path string) error { return makeAnother(t, path) },
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			c, path, run := withRun(t)
			must(t, os.Rename(path, path+".aside"))
			must(t, replace(path))
			before, _ := os.Stat(path)
			run.State, run.FinishedAt = outcome.Complete, run.CreatedAt
			for call, err := range map[string]error{
				"Commit": c.Commit(t.Context(), run, none),
				"Create": c.Create(t.Context(), going("b")),
				"Pin":    c.Pin(t.Context(), run.Key, true),
				"Get":    second(c.Get(t.Context(), run.Key)),
				"List":   second(c.List(t.Context(), catalog.Filter{})),
				"ID":     second(c.CatalogID(t.Context())),
			} {
				if !errors.Is(err, errReplaced) || catalog.IsTransient(err) {
					t.Errorf("%s: %v", call, err)
				}
			}
			if after, _ := os.Stat(path); (before == nil) != (after == nil) || after != nil && after.Size() != before.Size() {
				t.Errorf("the file was %v and is %v", before, after)
			}
			must(t, os.RemoveAll(path))
			must(t, os.Rename(path+".aside", path))
			must(t, c.Commit(t.Context(), run, none))
		})
	}
}

func second[T any](_ T, err error) error { return err }

// makeAnother makes another catalog at path.
func makeAnother(t *testing.T, path string) error {
	t.Helper()
	c, err := Open(t.Context(), filepath.Join(t.TempDir(), "another.db"))
	must(t, err)
	from := c.path
	must(t, c.Close())
	return os.Rename(from, path)
}

// TestReplacedInTransaction: what is committed into a file that lost its name in the transaction is an error.
func TestReplacedInTransaction(t *testing.T) {
	c, path, run := withRun(t)
	run.State, run.FinishedAt = outcome.Complete, run.CreatedAt
	err := c.Commit(t.Context(), run, func() (outputs.Entry, error) {
		must(t, os.Rename(path, path+".aside"))
		return none()
	})
	if !errors.Is(err, errReplaced) || !errors.Is(c.CheckReplaced(), errReplaced) {
		t.Errorf("it was removed: %v; %v", err, c.CheckReplaced())
	}
	must(t, os.Rename(path+".aside", path))
	must(t, errors.Join(c.CheckReplaced(), c.Commit(t.Context(), run, none))) // again, as after a lost answer
}

// TestEmptied: a file that was emptied counts as replaced, too.
func TestEmptied(t *testing.T) {
	c, path, run := withRun(t)
	must(t, os.Truncate(path, 0))
	run.State, run.FinishedAt = outcome.Complete, run.CreatedAt
	for range 2 {
		if err := c.Commit(t.Context(), run, none); !errors.Is(err, errReplaced) {
			t.Errorf("it was emptied: %v", err)
		}
	}
}

// TestCutLog: a log that was truncated or removed has lost commits, so that nothing is written after them.
func TestCutLog(t *testing.T) {
	for name, cut := range map[string]func(log string) error{
		"removed":   os.Remove,
		"emptied":   func(log string) error { return os.Truncate(log, 0) },
		"truncated": func(log string) error { return os.Truncate(log, 5000) },
	} {
		t.Run(name, func(t *testing.T) {
			c, path, run := withRun(t)
			must(t, cut(path+"-wal"))
			run.State, run.FinishedAt = outcome.Complete, run.CreatedAt
			if err := c.Commit(t.Context(), run, none); err == nil || !catalog.IsTransient(err) || !strings.Contains(err.Error(), "truncated or removed") {
				t.Errorf("commit: %v", err)
			}
		})
	}
}

// TestEmptiedLog: a log that another program has copied into the database and emptied has lost nothing.
func TestEmptiedLog(t *testing.T) {
	c, path, run := withRun(t)
	other, err := Open(t.Context(), path)
	must(t, err)
	defer other.Close()
	_, err = other.db.ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	must(t, err)
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() > 0 {
		t.Fatalf("the log: %v, %v", info, err)
	}
	run.State, run.FinishedAt = outcome.Complete, run.CreatedAt
	must(t, c.Commit(t.Context(), run, none))
}
