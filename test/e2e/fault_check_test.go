package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// earlier is the content of an output that an earlier run has made.
const earlier = "earlier\n"

// theFaulty is an analysis that leaves what a commit treats in different ways: content that is there already, new
// content below directories, a second copy of it, and a link. Its last act is seen by the listener.
const theFaulty = `printf 'earlier\n' >same; mkdir -p a/b; echo "of $SCIDEX_ANALYSIS_ID" >a/b/new; cp a/b/new twin; ln -s same link
echo "log of $SCIDEX_ANALYSIS_ID"; kill -0 5242880 2>/dev/null; exit 0`

// written is what theFaulty writes, by path.
func written(id string) map[string]string {
	return map[string]string{"same": earlier, "a/b/new": "of " + id + "\n", "twin": "of " + id + "\n"}
}

// holds reports whether a run has an output with the content.
func (r result) holds(path, content string) bool {
	return slices.ContainsFunc(r.Outputs, func(o output) bool { return o.Path == path && o.SHA256 == digest([]byte(content)) })
}

// expectWhole checks a run that is complete.
func (r result) expectWhole(t *testing.T) {
	t.Helper()
	r.expect(t, "complete", "exit", 0)
	for path, content := range written(r.ID) {
		if !r.holds(path, content) {
			t.Errorf("%s@%d is complete without the output %q: %+v", r.ID, r.Attempt, path, r.Outputs)
		}
	}
	if r.OutputsTotal != 3 || r.RejectedTotal != 1 || len(r.Rejected) != 1 {
		t.Errorf("%d outputs and %d rejected entries, want 3 and 1", r.OutputsTotal, r.RejectedTotal)
	}
	if r.Logs.Stdout.SHA256 != digest([]byte("log of "+r.ID+"\n")) {
		t.Errorf("the log is %+v", r.Logs.Stdout)
	}
}

// row reads the last attempt from the catalog, if there is one.
func (h *harness) row(id string) (r result, found bool) {
	h.t.Helper()
	out := h.do("show", "--json", id)
	if out.code != 0 {
		checkSentence(h.t, out.stderr, "no run ", id)
		return r, false
	}
	r, err := parseResult([]byte(out.stdout))
	if err != nil {
		h.t.Fatal(err)
	}
	return r, true
}

// expectPreserved checks that what an analysis has written is in its row or, whole, in its working directory.
func (h *harness) expectPreserved(id string, r result) {
	h.t.Helper()
	for path, content := range written(id) {
		if r.holds(path, content) {
			continue
		}
		// In /work, or one level up in a kept directory.
		dir := "/tmp/scidex-analysis-" + id
		inWork, _ := os.ReadFile(filepath.Join(dir, "work", path))
		moved, err := os.ReadFile(filepath.Join(dir, path))
		if string(inWork) != content && string(moved) != content {
			h.t.Errorf("%s is lost: the run is %s, %s (%s), the files %q and %q (%v)", path, r.State, r.Reason, r.Message, inWork, moved, err)
		}
	}
}

// expectSound checks the whole catalog against itself and against the blobs, byte by byte. Constraints are not checked:
// before SQLite 3.45, which Python may have, json_valid(NULL) was false.
func (h *harness) expectSound() {
	h.t.Helper()
	h.mustRun("catalog", "check", "--digests")
	out := h.finish(h.command("/usr/bin/python3", "-c", `
import sqlite3, sys
catalog = sqlite3.connect(sys.argv[1])
catalog.execute("PRAGMA ignore_check_constraints = on")
for question in (
    "PRAGMA integrity_check",
    "PRAGMA foreign_key_check",
    "SELECT id, attempt, count(*) FROM analysis_run GROUP BY id, attempt HAVING count(*) > 1",
    "SELECT id, attempt, path FROM analysis_output WHERE verdict = 'output' AND sha256 IS NULL",
    "SELECT id, attempt FROM analysis_run r WHERE outputs_total + rejected_total <> (SELECT count(*) FROM analysis_output o WHERE o.id = r.id AND o.attempt = r.attempt)",
): print(catalog.execute(question).fetchall())
`, filepath.Join(h.root, "catalog.db")))
	if out.stdout != "[('ok',)]\n"+strings.Repeat("[]\n", 4) {
		h.t.Errorf("the catalog is not sound:\n%s%s", out.stdout, out.stderr)
	}
}

// expectAftermath checks what a disturbed run has left, lets gc recover it, and runs it once more.
func (o *observed) expectAftermath(h *harness) {
	h.t.Helper()
	r, found := h.row(o.id)
	o.expectHonest(h, r, found)
	if o.ended && !o.excused() {
		h.expectPreserved(o.id, r)
	}
	o.expectCollected(h)
	h.expectRetry(o.id)
}

// excused reports a run of which nothing need be there: launcher or supervisor was killed, or nothing could be written
// any more, before the exit record was on the disk. If only the root fails, the working directory is the evidence.
func (o *observed) excused() bool {
	return o.fault.kind != failsOnce && !o.fault.kind.onRoot() && o.hit != "" && !o.proven
}

// expectHonest checks what the command said against what the catalog has.
func (o *observed) expectHonest(h *harness, r result, found bool) {
	h.t.Helper()
	if r.State == "complete" {
		r.expectWhole(h.t)
	}
	if o.ended && !found {
		h.t.Error("an analysis ran without a row")
	}
	if o.out.code < 0 { // the launcher was killed and said nothing
		return
	}
	told, err := parseResult([]byte(o.out.stdout))
	if told.Attempt == 0 { // refused before there was a run
		err = json.Unmarshal([]byte(o.out.stdout), &told)
	}
	if err != nil {
		h.t.Errorf("%v\n%s%s", err, o.out.stdout, o.out.stderr)
		return
	}
	if told.ExitCode != o.out.code {
		h.t.Errorf("the process ended with %d, the result says %d", o.out.code, told.ExitCode)
	}
	switch {
	case told.State == "complete" && strings.HasPrefix(o.hit, "launcher fsync blobs/"):
		h.t.Errorf("told to be complete after a failed %s", o.hit)
	case told.State == "complete" && r.State != "complete":
		h.t.Errorf("told to be complete, and the catalog says %q, %q", r.State, r.Message)
	case found && told.State != r.State && (told.State != "error" || r.State != "running" && told.Reason != "commit"):
		// A row that was reported as missing, or as not ended, may be found after all if the disk failed.
		h.t.Errorf("told %s, %s (%s); the catalog says %s", told.State, told.Reason, told.Message, r.State)
	}
}

// expectCollected lets gc end what is open, twice, and checks that nothing is lost or left by it.
func (o *observed) expectCollected(h *harness) {
	h.t.Helper()
	h.gc()
	if again := h.gc(); len(again.Lost)+len(again.Removed) > 0 {
		h.t.Errorf("a second gc found %+v", again)
	}
	r, found := h.row(o.id)
	if found && (r.State == "running" || r.State == "queued") {
		h.t.Errorf("after gc the run is %s", r.State)
	}
	if r.State == "complete" {
		r.expectWhole(h.t)
	}
	if o.ended && !o.excused() {
		h.expectPreserved(o.id, r)
	}
	kept := "/tmp/scidex-analysis-" + o.id
	for _, left := range leftovers(o.id, h.root) {
		if left != kept || r.State == "complete" {
			h.t.Errorf("after gc of a run that is %s: %s", r.State, left)
		}
	}
	h.expectSound()
}

// expectRetry runs an id once more, reads its outputs back, and removes all of its attempts.
func (h *harness) expectRetry(id string) {
	h.t.Helper()
	before, _ := h.row(id)
	args := flags("--id", id, "--audit", "off", "--", "sh", "-c", theFaulty)
	if before.State == "complete" {
		args = []string{"--again", id}
	}
	r := h.start(args...)
	r.expectWhole(h.t)
	if r.Attempt != before.Attempt+1 {
		h.t.Errorf("the retry is attempt %d after %d", r.Attempt, before.Attempt)
	}
	to := h.path("export-" + id)
	h.mustRun("outputs", "export", id, to)
	for path, content := range written(id) {
		if got := readFile(h.t, filepath.Join(to, path)); got != content {
			h.t.Errorf("exported %s: %q", path, got)
		}
	}
	for attempt := r.Attempt; attempt > 0; attempt-- {
		h.mustRun("rm", id+"@"+strconv.Itoa(attempt))
	}
	if left := leftovers(id, h.root); len(left) > 0 {
		h.t.Errorf("after rm: %q", left)
	}
}
