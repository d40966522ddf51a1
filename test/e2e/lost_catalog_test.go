package e2e

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// readers are commands that read the catalog, for a run of this id.
func readers(id string) [][]string {
	return [][]string{
		{"ls"},
		{"ls", "--json"},
		{"show", id},
		{"logs", id},
		{"outputs", "ls", id},
		{"outputs", "find", "*"},
		{"stats"},
		{"catalog", "check"},
		{"catalog", "migrate"},
		{"gc", "--dry-run"},
	}
}

// filesBelow are the files below a directory.
func filesBelow(t *testing.T, dir string) []string { return slices.Sorted(maps.Keys(snapshot(t, dir))) }

// TestLostCatalog: a missing or empty catalog file is an error, and no new catalog is made, if the blob store belongs
// to the old one.
func TestLostCatalog(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // a root without anything is one without runs
	id := h.newID()
	h.start("--id", id, "--", "sh", "-c", "echo x >x").expect(t, "complete", "exit", 0)
	file := filepath.Join(h.root, "catalog.db")
	whole := readFile(t, file)
	for name, lose := range map[string]func() error{
		"gone":  func() error { return os.Remove(file) },
		"empty": func() error { return os.Truncate(file, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			if err := lose(); err != nil {
				t.Fatal(err)
			}
			before := filesBelow(t, h.root)
			for _, words := range append(readers(id), []string{"run", "--", "true"}) {
				h.mustRefuse(words, "catalog.db", "missing or empty", "blob store belongs to catalog", "backup", "--db URL", "--root DIR")
			}
			if after := filesBelow(t, h.root); !slices.Equal(before, after) {
				t.Errorf("before %q, after %q", before, after)
			}
			h.doctor(1, nil, "--limits=best-effort").expect(t, "catalog.open", "fail", "missing or empty")
			if err := os.WriteFile(file, []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			h.show(id).expect(t, "complete", "exit", 0)
		})
	}
}

// TestLostCatalogAndBlobs: without a blob store, files of a killed run below the root show that there was a catalog.
func TestLostCatalogAndBlobs(t *testing.T) {
	h := newHarness(t)
	dead := h.killed()
	back := h.putAside("catalog.db", "blobs")
	defer h.do("gc")
	defer back()
	h.mustRefuse([]string{"ls"}, "missing or empty", filepath.Join(h.root, "runs"), "--root DIR")
	back()
	h.mustRun("gc")
	h.show(dead).expect(t, "lost", "supervisor_lost", 125)
}

// putAside moves everything below the root away; back moves it back, over what was made there in between.
func (h *harness) putAside(names ...string) (back func()) {
	h.t.Helper()
	for _, name := range names {
		if err := os.Rename(filepath.Join(h.root, name), h.path(name)); err != nil {
			h.t.Fatal(err)
		}
	}
	return sync.OnceFunc(func() {
		for _, name := range names {
			if err := errors.Join(os.RemoveAll(filepath.Join(h.root, name)), os.Rename(h.path(name), filepath.Join(h.root, name))); err != nil {
				h.t.Error(err)
			}
		}
	})
}

// TestDamagedCatalogIsFound damages a page of a catalog that no other command reads.
func TestDamagedCatalogIsFound(t *testing.T) {
	h := newHarness(t)
	h.start("--id", h.newID(), "--", "sh", "-c", "echo x >x").expect(t, "complete", "exit", 0)
	h.mustRun("catalog", "check", "--digests")
	out := h.finish(h.command("/usr/bin/python3", "-c", `
import sqlite3, sys
catalog = sqlite3.connect(sys.argv[1])
page, = catalog.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'selftest_report_ts'").fetchone()
size, = catalog.execute("PRAGMA page_size").fetchone()
catalog.execute("PRAGMA wal_checkpoint(TRUNCATE)")
catalog.close()
with open(sys.argv[1], "r+b") as f:
    f.seek((page - 1) * size)
    f.write(b"\xff" * 100)
`, filepath.Join(h.root, "catalog.db")))
	if out.code != 0 {
		t.Fatal(out.stderr)
	}
	h.mustRun("catalog", "check")
	if out := h.do("catalog", "check", "--digests"); out.code != 125 || !strings.Contains(out.stderr, "database is damaged") || !strings.Contains(out.stderr, "backup") {
		t.Errorf("check --digests: %+v", out)
	}
}
