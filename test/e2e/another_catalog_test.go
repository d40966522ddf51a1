package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPostgresAnotherCatalog: a root has one catalog. If its runs are in PostgreSQL, nothing makes a SQLite file next
// to its blobs, and the reverse; both refusals name the flag to use.
func TestPostgresAnotherCatalog(t *testing.T) {
	h, db := inPostgres(t)
	h.start("--id", h.newID(), "--", "true").expect(t, "complete", "exit", 0)
	file := filepath.Join(h.root, "catalog.db")
	for _, words := range [][]string{{"run", "--", "true"}, {"ls"}} {
		h.mustRefuse(append([]string{"--db", "sqlite://" + file}, words...), "blob store belongs to catalog", "--db URL", "another --root DIR")
	}
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("a catalog was made: %v", err)
	}

	other := newHarness(t)
	other.start("--id", other.newID(), "--", "true").expect(t, "complete", "exit", 0)
	other.mustRefuse([]string{"--db", db.url(), "run", "--", "true"}, "blob store belongs to catalog", "--db and --blobs", "another --root")
	other.mustRun("run", "--db", db.url(), "--root", other.path("root"), "--id", other.newID(), "--", "true")
}
