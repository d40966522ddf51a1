package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoresReplacedUnderABatch: once the catalog's file, the directory of blobs or the root is not the one that a batch opened,
// no line is complete, nothing of a result is removed, and no new one is made; the results are there when it is back.
func TestStoresReplacedUnderABatch(t *testing.T) {
	aside := func(name string) func(h *harness) error {
		return func(h *harness) error { return os.Rename(filepath.Join(h.root, name), h.path("aside")) }
	}
	back := func(name string) func(h *harness) error {
		return func(h *harness) error {
			return errors.Join(os.RemoveAll(filepath.Join(h.root, name)), os.Rename(h.path("aside"), filepath.Join(h.root, name)))
		}
	}
	for name, c := range map[string]struct {
		lose, restore func(h *harness) error
		says          string
		lost          bool // the result is only in the directory that was kept
		older         bool // what is restored does not know the first line
	}{
		"catalog removed": {lose: aside("catalog.db"), restore: back("catalog.db"), says: "catalog.db"},
		"catalog replaced": {lose: func(h *harness) error {
			return errors.Join(aside("catalog.db")(h), os.WriteFile(filepath.Join(h.root, "catalog.db"), nil, 0o600))
		}, restore: back("catalog.db"), says: "catalog.db"},
		"catalog emptied": { // and restored from a backup that is older than the batch
			lose: func(h *harness) error { return os.Truncate(filepath.Join(h.root, "catalog.db"), 0) },
			restore: func(h *harness) error {
				for _, log := range flags("-wal", "-shm") {
					if err := os.Remove(filepath.Join(h.root, "catalog.db"+log)); err != nil && !os.IsNotExist(err) {
						return err
					}
				}
				return os.Rename(h.path("backup"), filepath.Join(h.root, "catalog.db"))
			},
			says: "catalog.db", older: true,
		},
		"blobs replaced": {lose: func(h *harness) error {
			return errors.Join(aside("blobs")(h), os.MkdirAll(filepath.Join(h.root, "blobs/sha256"), 0o700))
		}, restore: back("blobs"), says: "blobs"},
		"root removed":  {lose: aside(""), restore: back(""), says: "root", lost: true},
		"root replaced": {lose: func(h *harness) error { return errors.Join(aside("")(h), os.Mkdir(h.root, 0o700)) }, restore: back(""), says: "root", lost: true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.start("--id", h.id("before"), "--", "true").expect(t, "complete", "exit", 0)
			h.write("backup", readFile(t, filepath.Join(h.root, "catalog.db")), 0o600)
			f := h.flag()
			first, second := h.id("first"), h.id("second")
			lines := []manifest{sh(first, "echo x >x"), sh(second, "echo ready; "+awaited+"; echo y >y")}
			for n := range 4 {
				lines = append(lines, sh(h.id(fmt.Sprint("later-", n)), "echo z >z"))
			}
			b := h.begin("batch", "--jobs=1", "--input", f.input(), h.lines(lines...))
			h.logged(second, "ready")
			if err := c.lose(h); err != nil {
				t.Fatal(err)
			}
			f.raise()
			out := b.end()
			if out.code != 125 {
				t.Errorf("exit code %d\n%s", out.code, out.stderr)
			}
			got := h.results(out.stdout)
			got[first].expect(t, "complete", "exit", 0)
			delete(got, first)
			for id, r := range got {
				if r.State != "error" || r.ExitCode != 125 {
					t.Errorf("%s is %s, %d: %s", id, r.State, r.ExitCode, r.Message)
				}
			}
			if r := got[second]; !strings.Contains(r.Message, c.says) || !strings.Contains(r.Message, "put it back") {
				t.Errorf("it says %q", r.Message)
			}
			if err := c.restore(h); err != nil {
				t.Fatal(err)
			}
			h.gc()
			r := h.show(second)
			if c.lost {
				r.expect(t, "lost", "supervisor_lost", 125)
				if got := readFile(t, filepath.Join(r.Kept, "y")); got != "y\n" {
					t.Errorf("%q in what was kept", got)
				}
			} else if r.expect(t, "complete", "exit", 0); h.blob(r.output("y").SHA256) != "y\n" {
				t.Errorf("it has %q", h.blob(r.output("y").SHA256))
			}
			if !c.older {
				h.show(first).expect(t, "complete", "exit", 0)
			}
			for id := range got { // those that were started
				h.do("rm", id)
			}
		})
	}
}

// TestCatalogLostUnderAHook: a run whose catalog is gone after its hook is not complete, and its result waits as it was committed.
func TestCatalogLostUnderAHook(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	hook := h.hook("mv " + filepath.Join(h.root, "catalog.db") + " " + h.path("aside") + "\n")
	r := h.start("--id", id, "--post-process", hook, "--", "sh", "-c", "echo y >y")
	r.expect(t, "error", "commit", 125)
	if !strings.Contains(r.Message, "catalog.db") || !strings.Contains(r.Message, "put it back") {
		t.Errorf("it says %q", r.Message)
	}
	if err := os.Rename(h.path("aside"), filepath.Join(h.root, "catalog.db")); err != nil {
		t.Fatal(err)
	}
	h.gc()
	r = h.show(id)
	r.expect(t, "error", "post_process", 125)
	if h.blob(r.output("y").SHA256) != "y\n" {
		t.Errorf("it has %+v", r.Outputs)
	}
	if left := matches(filepath.Join(h.root, "outcomes", "*")); len(left) > 0 {
		t.Errorf("what waited is in %q", left)
	}
}
