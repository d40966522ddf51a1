package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// earlierPrograms are the revisions whose files lie in testdata/earlier.
var earlierPrograms = []string{"f3809fa"}

// TestEarlierPrograms reads what earlier programs wrote: a catalog, a result that waits to be committed, and a spool.
func TestEarlierPrograms(t *testing.T) {
	for _, revision := range earlierPrograms {
		t.Run(revision, func(t *testing.T) {
			h := newHarness(t)
			h.unpackEarlier(revision)
			h.readEarlierRuns()
			h.commitEarlierResult()
			h.collectEarlierTask(filepath.Join(filepath.Dir(h.root), "spool"))
		})
	}
}

// TestEarlierRequest: "warm", which requests had and which changed nothing, neither hinders the batch that goes on nor is it repeated.
func TestEarlierRequest(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	file := h.lines(sh(id, "true"))
	h.batch(0, file)
	h.sql("UPDATE analysis_run SET request = json_set(request, '$.warm', 'auto') WHERE id = '" + id + "'")
	for _, args := range [][]string{{"show", "--json", id}, {"batch", "--resume", file}} {
		if out := h.mustRun(args...).stdout; !strings.Contains(out, `"warm":"auto"`) || !strings.Contains(out, `"attempt":1,"state":"complete"`) {
			t.Errorf("%q: %s", args, out)
		}
	}
	again := h.start("--again", id)
	if again.expect(t, "complete", "exit", 0); again.Attempt != 2 {
		t.Errorf("attempt %d", again.Attempt)
	}
}

// unpackEarlier makes the root of the harness that of an earlier program, and a spool next to it.
func (h *harness) unpackEarlier(revision string) {
	h.t.Helper()
	archive := testdata(h.t, "earlier/"+revision+".tar.gz")
	if out, err := exec.Command("tar", "-xzf", archive, "--no-same-owner", "-C", filepath.Dir(h.root)).CombinedOutput(); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
}

func (h *harness) readEarlierRuns() {
	h.t.Helper()
	r := h.show("old-complete")
	r.expect(h.t, "complete", "exit", 0)
	if r.Labels["sweep"] != "s1" || len(r.Outputs) != 2 || len(r.Rejected) != 1 {
		h.t.Errorf("old-complete: labels %v, outputs %+v, rejected %+v", r.Labels, r.Outputs, r.Rejected)
	}
	if got := h.mustRun("outputs", "cat", "old-complete", "all.csv").stdout; got != "1\n" {
		h.t.Errorf("all.csv: %q", got)
	}
	if got := h.mustRun("logs", "--stdout", "old-complete").stdout; got != "out\n" {
		h.t.Errorf("standard output: %q", got)
	}
	h.show("old-failed").expect(h.t, "failed", "exit", 3)
}

// commitEarlierResult reads the result that the first command has committed. Its hook is due then.
func (h *harness) commitEarlierResult() {
	h.t.Helper()
	h.show("old-pending").expect(h.t, "error", "post_process", 125)
	if got := h.mustRun("outputs", "cat", "old-pending", "d/two").stdout; got != "2\n" {
		h.t.Errorf("d/two: %q", got)
	}
	if left := matches(filepath.Join(h.root, "outcomes", "*")); len(left) > 0 {
		h.t.Errorf("still waits: %q", left)
	}
	h.gc()
}

func (h *harness) collectEarlierTask(spool string) {
	h.t.Helper()
	h.mustRun("slurm", "collect", spool)
	h.show("old-task").expect(h.t, "complete", "exit", 0)
	if got := h.mustRun("outputs", "cat", "old-task", "x").stdout; got != "1\n" {
		h.t.Errorf("x: %q", got)
	}
}
