package e2e

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The rows of docs/updates.md. The later version is the program under test with one more migration of each catalog
// (scripts/build next); the program under test is the earlier one.

// newer is the harness as the later version uses it: the same root, catalog and ids.
func (h *harness) newer() *harness {
	h.t.Helper()
	later := *h
	later.program = os.Getenv("SCIDEX_OCI_NEXT")
	if later.program == "" {
		h.t.Fatal("SCIDEX_OCI_NEXT does not name the program of a later version; run scripts/test, which builds it and sets that")
	}
	return &later
}

// tooNew is the earlier version's error for the later one's catalog.
const tooNew = "and this program knows versions up to"

// refusesNewer checks that every command that needs the catalog refuses.
func (h *harness) refusesNewer() {
	h.t.Helper()
	for _, args := range [][]string{{"run", "--", "true"}, {"ls"}, {"show", "any"}, {"gc"}, {"catalog", "check"}, {"serve", "--stdio"}} {
		h.mustRefuse(args, tooNew, "use the newer scidex-oci")
	}
}

// The later version updates a SQLite catalog at its first command, and goes on with what the earlier one has left below
// the root: a waiting result, and a killed run. A run of the earlier one that ends after the update is committed.
func TestMixedRoot(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	h.start("--id", id, "--", "sh", "-c", "echo 1 >out").expect(t, "complete", "exit", 0)
	killed := h.killed()
	open, end := h.newID(), h.flag()
	l := h.launch(open, "--input", end.input(), "--", "sh", "-c", "echo ready; "+awaited+"; echo 2 >out")
	l.await("ready")
	w := h.sqliteWall()
	waits := h.walledOut(w)
	w.tear()

	newer := h.newer()
	newer.mustRun("ls")
	backups := matches(filepath.Join(h.root, "catalog.db.bak-v*"))
	if len(backups) != 1 {
		t.Fatalf("backups %q", backups)
	}
	h.refusesNewer()
	end.raise()
	<-l.ended
	newer.mustRun("gc")
	newer.show(open).expect(t, "complete", "exit", 0)
	newer.show(killed).expect(t, "lost", "supervisor_lost", 125)
	newer.expectOdd(waits)
	for run, want := range map[string]string{id: "1\n", open: "2\n"} {
		if got := newer.mustRun("outputs", "cat", run, "out").stdout; got != want {
			t.Errorf("%s has %q, want %q", run, got, want)
		}
	}
	back := newHarness(t)
	if err := os.MkdirAll(back.root, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(back.root, "catalog.db"), readFile(t, backups[0]), 0o600)
	back.show(id).expect(t, "complete", "exit", 0)
}

// A worker of the earlier version goes on after the later one has updated the database, also with jobs of the later
// one, and is refused when it starts again. The later one's worker takes jobs of the earlier one.
func TestMixedQueue(t *testing.T) {
	h, db := inQueue(t)
	end := h.flag()
	old := h.worker("--labels", "version=old", "--jobs", "1") // it has no place for what is not its own, and that needs not be given back
	inHand := h.submit("in-hand", "echo ready; "+awaited+"; echo old >out", "--require", "version=old", "--input", end.input())
	h.comes(db, inHand, "running")
	ofOld := h.submit("of-old", "echo new >out", "--require", "version=new")

	newer := h.newer()
	newer.mustRun("catalog", "migrate")
	h.refusesNewer()
	h.mustRefuse([]string{"submit", "--", "true"}, tooNew)
	h.mustRefuse([]string{"worker"}, tooNew)
	young := newer.worker("--labels", "version=new")
	newer.comes(db, ofOld, "complete")
	end.raise()
	newer.comes(db, inHand, "complete")
	ofNew := newer.submit("of-new", "echo old >out", "--require", "version=old")
	for id, want := range map[string]string{inHand: "old\n", ofOld: "new\n", ofNew: "old\n"} {
		newer.comes(db, id, "complete")
		if got := newer.attempts(db, id); got != "complete" {
			t.Errorf("%s has the attempts %q", id, got)
		}
		by := map[string]*hosted{"old\n": old, "new\n": young}[want]
		if got := by.newer().mustRun("outputs", "cat", id, "out").stdout; got != want {
			t.Errorf("%s has %q, want %q", id, got, want)
		}
	}
	old.end()
	young.end()
	if old.results() != 2 || young.results() != 1 {
		t.Errorf("%d and %d results, want 2 and 1", old.results(), young.results())
	}
}

// A job of a later form waits for a worker that knows it.
func TestMixedJobs(t *testing.T) {
	h, db := inQueue(t)
	id := h.submit("later", "true")
	form := func(v int) {
		db.query(t, "", fmt.Sprintf(`UPDATE scidex_oci.river_job SET args = jsonb_set(args, '{v}', '%d'), scheduled_at = now(),
			state = 'available' WHERE args ->> 'id' = '%s'`, v, id))
	}
	form(2)
	w := h.worker()
	until(t, hangTimeout, "the job is left to others", func() bool { return strings.Contains(h.queued(id).Why, "a job of version 2") })
	if q := h.queued(id); q.RunState != "queued" || q.Tries != 0 {
		t.Errorf("%+v", q)
	}
	form(1)
	db.query(t, "", "UPDATE scidex_oci.river_job SET args = args || '{\"later\": {\"x\": [1]}}'") // what it does not know is left out
	h.comes(db, id, "complete")
	w.end()
}

// later makes a record one of a later version: of a later form, or with a field more.
func later(form int, whole []byte) []byte {
	content := whole[:bytes.LastIndex(whole, []byte(`{"sha256":`))]
	content = append(fmt.Appendf(nil, `{"v":%d,"later":{"x":[1]},`, form), bytes.TrimPrefix(content, []byte(`{"v":1,`))...)
	return fmt.Appendf(content, "{\"sha256\":\"%x\"}\n", sha256.Sum256(content))
}

// A result that waits may have fields of a later version. One of a later form is left to that version, with its blobs.
func TestMixedOutcome(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls")
	w := h.sqliteWall()
	id := h.walledOut(w)
	w.tear()
	whole := readFile(t, h.outcome(id))
	writeFile(t, h.outcome(id), string(later(2, []byte(whole))), 0o600)
	blobs := h.ageBlobs()
	const says = "has version 2 of its form, and this program knows version 1: a newer scidex-oci wrote it; use that one"
	out := h.do("gc")
	if out.code != 125 || strings.Count(out.stderr, says) != 2 || !strings.Contains(out.stderr, "no blob is removed") {
		t.Errorf("gc: %d, %s", out.code, out.stderr)
	}
	h.expectBlobs(blobs)
	if readFile(t, h.outcome(id)) != string(later(2, []byte(whole))) || len(matches("/tmp/scidex-analysis-"+id)) != 1 {
		t.Fatal("what waits was changed")
	}
	writeFile(t, h.outcome(id), string(later(1, []byte(whole))), 0o600)
	h.gc()
	h.show(id).expect(t, "complete", "exit", 0)
	h.expectOdd(id)
}

// The state file and the exit record of a killed run are read with fields of a later version. With an exit record of a later
// form the run, its directory and its blobs are left to that version.
func TestMixedExitRecord(t *testing.T) {
	h := newHarness(t)
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--input", end.input(), "--", "sh", "-c", "echo precious >result; echo ready; "+awaited)
	l.await("ready")
	release := h.lockCatalog()
	end.raise()
	until(t, hangTimeout, "the analysis has ended", func() bool { return h.analysisEnded(id) })
	l.signal(syscall.SIGKILL)
	<-l.ended
	release()
	var whole []byte
	h.changeAftermath(id, func(as []byte) []byte { whole = as; return later(2, as) })
	writeFile(t, h.recordPath(id), strings.Replace(readFile(t, h.recordPath(id)), "{", `{"later":1,`, 1), 0o600)
	if out := h.do("gc"); out.code != 125 || !strings.Contains(out.stderr, "use that one") {
		t.Errorf("gc: %d, %s", out.code, out.stderr)
	}
	if r := h.show(id); r.State != "running" {
		t.Errorf("the run is %s: %s", r.State, r.Message)
	}
	h.changeAftermath(id, func([]byte) []byte { return later(1, whole) })
	h.gc()
	h.show(id).expect(t, "complete", "exit", 0)
	if got := h.mustRun("outputs", "cat", id, "result").stdout; got != "precious\n" {
		t.Errorf("the result is %q", got)
	}
}

// A spool of Slurm may have fields of a later version. One of a later form is refused, and what it has stays.
func TestMixedSpool(t *testing.T) {
	h := newHarness(t)
	h.unpackEarlier(earlierPrograms[0])
	spool := filepath.Join(filepath.Dir(h.root), "spool")
	h.gc() // commits waiting results, too
	head, result := filepath.Join(spool, "spool.json"), filepath.Join(spool, "results", "1")
	whole, ended := readFile(t, head), readFile(t, result)
	writeFile(t, head, strings.Replace(whole, `{"v":1,`, `{"v":2,`, 1), 0o600)
	h.mustRefuse([]string{"slurm", "collect", spool}, "was made by a newer scidex-oci (version 2 of its form, not 1)")
	writeFile(t, head, strings.Replace(whole, `{"v":1,`, `{"v":1,"later":1,`, 1), 0o600)
	writeFile(t, result, string(later(2, []byte(ended))), 0o600)
	if out := h.do("slurm", "collect", spool); out.code == 0 || !strings.Contains(out.stderr, "use that one") {
		t.Errorf("collect: %d, %s%s", out.code, out.stdout, out.stderr)
	}
	if got := readFile(t, result); got != string(later(2, []byte(ended))) {
		t.Error("the result was changed")
	}
	writeFile(t, result, string(later(1, []byte(ended))), 0o600)
	h.collectEarlierTask(spool)
}
