package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var errLost = errors.New("there was one")

func refused(context.Context) error { return errLost }

// TestOpenIf: no catalog is made if allowNew forbids it, neither if the file is missing nor if it holds no catalog.
func TestOpenIf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	if _, err := OpenIf(t.Context(), path, refused); !errors.Is(err, errLost) {
		t.Errorf("no file: error = %v", err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := OpenIf(t.Context(), path, refused); !errors.Is(err, errLost) {
		t.Errorf("an empty file: error = %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the empty file was written: %v, %v", info, err)
	}
	c, err := Open(t.Context(), path)
	must(t, err)
	must(t, c.Close())
	c, err = OpenIf(t.Context(), path, refused) // it is there
	must(t, err)
	must(t, c.Close())
}

// TestOpenIfBlank: a database without a table holds no catalog either.
func TestOpenIfBlank(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	db, err := sql.Open("sqlite3", path)
	must(t, err)
	_, err = db.ExecContext(t.Context(), `PRAGMA user_version = 1`) // writes the first page
	must(t, errors.Join(err, db.Close()))
	if _, err := OpenIf(t.Context(), path, refused); !errors.Is(err, errLost) {
		t.Errorf("error = %v", err)
	}
}

// TestQuickCheck: a catalog is whole, or what is wrong with it is listed or an error.
func TestQuickCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c, err := Open(t.Context(), path)
	must(t, err)
	damage, err := c.QuickCheck(t.Context())
	if err != nil || len(damage) > 0 {
		t.Errorf("a new catalog: %q, %v", damage, err)
	}
	must(t, c.Close())
	damagePages(t, path)
	if c, err = Open(t.Context(), path); err != nil {
		t.Fatal(err) // what opens is whole
	}
	defer c.Close()
	if damage, err = c.QuickCheck(t.Context()); err != nil || len(damage) == 0 || strings.Contains(strings.Join(damage, ""), "\n") {
		t.Errorf("a damaged catalog: %q, %v", damage, err)
	}
}

// damagePages overwrites the root page of an index that no opening reads.
func damagePages(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	must(t, err)
	var page, size int64
	must(t, db.QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = 'analysis_run_state'`).Scan(&page))
	must(t, db.QueryRowContext(t.Context(), `PRAGMA page_size`).Scan(&size))
	must(t, db.Close())
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("\xff", 100)), (page-1)*size)
	must(t, errors.Join(err, f.Close()))
}

// TestOpenIfAnotherMakesIt: if another process makes the catalog while allowNew looks, allowNew may find traces of that catalog.
func TestOpenIfAnotherMakesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c, err := OpenIf(t.Context(), path, func(ctx context.Context) error {
		other, err := Open(ctx, path)
		must(t, err)
		must(t, other.Close())
		return errLost
	})
	must(t, err)
	must(t, c.Close())
}
