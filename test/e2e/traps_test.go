package e2e

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// trap is what an analysis leaves to attack the reading, export, keeping and removal of its files. $1 is a directory of
// the host.
type trap struct {
	script   string
	flags    []string
	state    string
	reason   string
	outputs  []string
	rejected map[string]string // path to reason
}

var traps = map[string]trap{
	"links to inputs lead elsewhere": {
		script: `rm data docs; ln -s "$1" data; ln -s /etc docs`,
		flags:  flags("--data", "data", "--docs", "docs"),
		state:  "complete", reason: "exit", rejected: map[string]string{"data": "symlink", "docs": "symlink"},
	},
	"links to inputs are exchanged": {
		script: `rm data docs; ln -s /docs data; ln -s /data docs`,
		flags:  flags("--data", "data", "--docs", "docs"),
		state:  "complete", reason: "exit", rejected: map[string]string{"data": "symlink", "docs": "symlink"},
	},
	"links to inputs are others' names": {
		script: `mv data other; rm docs; mkdir docs; echo x >docs/x`,
		flags:  flags("--data", "data", "--docs", "docs"),
		state:  "complete", reason: "exit", outputs: flags("docs/x"), rejected: map[string]string{"other": "symlink"},
	},
	"the result is a link": {
		script: `ln -s "$1/0" scidex-result.json; echo x >x`,
		state:  "complete", reason: "exit", outputs: flags("x"), rejected: map[string]string{"scidex-result.json": "symlink"},
	},
	"the result is a file": {
		script: `echo forged >scidex-result.json; echo x >x`,
		state:  "complete", reason: "exit", outputs: flags("scidex-result.json", "x"),
	},
	"the result is a directory": {
		script: `mkdir scidex-result.json; echo forged >scidex-result.json/below; echo x >x`,
		state:  "complete", reason: "exit", outputs: flags("scidex-result.json/below", "x"),
	},
	"the result is a FIFO": {
		script: `mkfifo scidex-result.json; echo x >x`,
		state:  "complete", reason: "exit", outputs: flags("x"), rejected: map[string]string{"scidex-result.json": "fifo"},
	},
	"a declared FIFO": {
		script: `mkfifo table.csv`, flags: flags("--output", "table.csv"),
		state: "failed", reason: "output_missing", rejected: map[string]string{"table.csv": "fifo"},
	},
	"a declared socket": {
		script: `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("table.csv")'`, flags: flags("--output", "*.csv"),
		state: "failed", reason: "output_missing", rejected: map[string]string{"table.csv": "socket"},
	},
	"a declared directory": {
		script: `mkdir table.csv`, flags: flags("--output", "*.csv"),
		state: "failed", reason: "output_missing",
	},
	"a declared link to a link to a file": {
		script: `ln -s "$1/0" a; ln -s a table.csv`, flags: flags("--output", "table.csv"),
		state: "failed", reason: "output_missing", rejected: map[string]string{"a": "symlink", "table.csv": "symlink"},
	},
	"hard links to staged files": {
		script: `ln same new-name; ln changed also; echo more >>also; ln gone stays; rm gone; mkdir d; ln same d/below`,
		flags:  flags("--stage", "stage"),
		state:  "complete", reason: "exit", outputs: flags("also", "changed", "d/below", "new-name", "stays"),
	},
	"staged files become links": {
		script: `for f in same changed gone; do rm $f; ln -s "$1/0" $f; done`,
		flags:  flags("--stage", "stage"),
		state:  "complete", reason: "exit", rejected: map[string]string{"same": "symlink", "changed": "symlink", "gone": "symlink"},
	},
}

// TestTraps harvests, exports, keeps and removes traps.
func TestTraps(t *testing.T) {
	for name, c := range traps {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			tr := newTreasure(t, h.id("canary"))
			h.write("data/x", "", 0o644)
			h.write("docs/x", "", 0o644)
			for _, name := range []string{"same", "changed", "gone"} {
				h.write("stage/"+name, name, 0o644)
			}
			before := snapshot(t, h.path("stage"))
			id := h.newID()
			args := slices.Concat([]string{"--id", id, "--keep", "always", "--export", "exported"}, c.flags, shell(c.script), []string{"sh", tr.dir})
			if !slices.Contains(c.flags, "--data") {
				args = append([]string{"--data", "none", "--docs", "none"}, args...)
			}
			r := h.start(args...)
			if r.State != c.state || r.Reason != c.reason {
				t.Errorf("%s, %s (%s); want %s, %s", r.State, r.Reason, r.Message, c.state, c.reason)
			}
			if got := r.paths(); !slices.Equal(got, slices.Concat([]string{}, c.outputs)) {
				t.Errorf("outputs %q, want %q", got, c.outputs)
			}
			for _, e := range r.Rejected {
				if c.rejected[e.Path] != e.Reason {
					t.Errorf("%s is rejected as %s, want %q", e.Path, e.Reason, c.rejected[e.Path])
				}
			}
			if len(r.Rejected) != len(c.rejected) {
				t.Errorf("rejected %+v, want %v", r.Rejected, c.rejected)
			}
			h.exportedAs(r)
			h.mustRun("show", id)
			h.mustRun("logs", id)
			tr.untouched(h.root, h.path("exported"), r.Kept)
			h.mustRun("rm", id)
			tr.untouched()
			if after := snapshot(t, h.path("stage")); !maps.Equal(before, after) {
				t.Errorf("the staged directory changed:\n%s", changes(before, after))
			}
		})
	}
}

// exportedAs checks that the export holds the outputs as regular files, and the result of this run.
func (h *harness) exportedAs(r result) {
	h.t.Helper()
	for path, what := range snapshot(h.t, h.path("exported")) {
		if !strings.HasPrefix(what, "-") && !strings.HasPrefix(what, "d") {
			h.t.Errorf("%s was exported as %s", path, what)
		}
	}
	for _, o := range r.Outputs {
		if strings.HasPrefix(o.Path, "scidex-result.json") { // the result's own place
			continue
		}
		if got := readFile(h.t, filepath.Join(h.path("exported"), o.Path)); digest([]byte(got)) != o.SHA256 {
			h.t.Errorf("%s was exported as %q", o.Path, got)
		}
	}
	if got, err := lookUp([]byte(readFile(h.t, h.path("exported/scidex-result.json"))), "id"); err != nil || got != r.ID {
		h.t.Errorf("the exported result is of %q, %v", got, err)
	}
}

// TestExportFollowsNoLink exports onto links of the caller's that lead to the caller's files.
func TestExportFollowsNoLink(t *testing.T) {
	h := newHarness(t)
	tr := newTreasure(t, h.id("canary"))
	id := h.newID()
	h.start("--id", id, "--", "sh", "-c", "mkdir d; echo over >file; echo over >d/0; echo over >d/new").expect(t, "complete", "exit", 0)
	for _, c := range []struct{ name, target string }{
		{"file", filepath.Join(tr.dir, "0")}, {"d", tr.dir}, {"scidex-result.json", filepath.Join(tr.dir, "0")},
	} {
		target := h.path("onto-" + c.name)
		if err := os.Mkdir(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(c.target, filepath.Join(target, c.name)); err != nil {
			t.Fatal(err)
		}
		h.mustRefuse([]string{"outputs", "export", "--overwrite", id, target}, c.name, "exists")
		again := h.start("--id", h.newID(), "--export", target, "--overwrite", "--", "sh", "-c", "mkdir d; echo over >file; echo over >d/0")
		again.expect(t, "error", "export", 125)
	}
	tr.untouched()
}

// replacements are what the caller puts in the place of a run's directory.
var replacements = map[string]func(path string, tr treasure) error{
	"link":            func(path string, tr treasure) error { return os.Symlink(tr.dir, path) },
	"other directory": func(path string, tr treasure) error { return os.Rename(tr.dir, path) },
	"file":            func(path string, _ treasure) error { return os.WriteFile(path, []byte("precious"), 0o600) },
}

// moments are when the directory is replaced. They return the command that finds the replacement.
var moments = map[string]func(h *harness, replace func(id string)) (clean func()){
	"while it runs": func(h *harness, replace func(id string)) func() {
		id, end := h.newID(), h.flag()
		l := h.launch(id, "--input", end.input(), "--", "sh", "-c", "echo x >x; echo ready; "+awaited)
		l.await("ready")
		replace(id)
		return func() {
			end.raise()
			r := l.wait()
			r.expect(h.t, "complete", "exit", 0)
			outputsAre("x")(h.t, r)
			h.gc()
		}
	},
	"when it was killed": func(h *harness, replace func(id string)) func() {
		id := h.newID()
		l := h.launch(id, "--", "sh", "-c", "chmod 777 .; "+endless, id+"-marker")
		l.await("ready")
		all := l.family()
		l.signal(syscall.SIGKILL)
		<-l.ended
		expectGone(h.t, all, id)
		replace(id)
		return func() { h.gc() }
	},
	"when it is kept": func(h *harness, replace func(id string)) func() {
		id := h.newID()
		h.start("--id", id, "--keep", "always", "--", "sh", "-c", "echo x >x").expect(h.t, "complete", "exit", 0)
		replace(id)
		return func() { h.mustRun("rm", id) }
	},
}

// TestReplacedDirectory replaces the directory of a run: the new one is not the run's, and does not change.
func TestReplacedDirectory(t *testing.T) {
	for when, prepare := range moments {
		for what, put := range replacements {
			t.Run(when+", "+what, func(t *testing.T) {
				h := newHarness(t)
				tr := newTreasure(t, h.id("canary"))
				var path string
				clean := prepare(h, func(id string) {
					path = "/tmp/scidex-analysis-" + id
					if err := errors.Join(os.Rename(path, h.path(id)), put(path, tr)); err != nil {
						t.Fatal(err)
					}
				})
				t.Cleanup(func() { os.RemoveAll(path) })
				before := snapshot(t, path)
				clean()
				if after := snapshot(t, path); !maps.Equal(before, after) {
					t.Errorf("what is there now changed:\n%s", changes(before, after))
				}
				if what == "link" {
					tr.untouched()
				}
				os.RemoveAll(path)
			})
		}
	}
}
