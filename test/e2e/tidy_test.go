package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// tidyings are the commands that write, each with what it needs, in a harness where `done` has ended.
var tidyings = map[string]func(h *harness, done string) outcome{
	"run":          func(h *harness, _ string) outcome { return h.do("run", "--quiet", "--id", h.newID(), "--", "true") },
	"run --json":   func(h *harness, _ string) outcome { return h.do("run", "--json", "--id", h.newID(), "--", "true") },
	"run --again":  func(h *harness, done string) outcome { return h.do("run", "--quiet", "--again", done) },
	"run --detach": (*harness).detachAndWait,
	"stop":         (*harness).stopAnother,
	"rm":           func(h *harness, done string) outcome { return h.do("rm", done) },
	"pin":          func(h *harness, done string) outcome { return h.do("pin", done) },
	"unpin":        func(h *harness, done string) outcome { return h.do("unpin", done) },
	"post-process": func(h *harness, done string) outcome {
		return h.do("post-process", done, "--again", "--post-process", "true")
	},
}

func (h *harness) detachAndWait(string) outcome {
	id := h.newID()
	h.t.Cleanup(func() { h.endDetached(id) })
	out := h.do("run", "--detach", "--id", id, "--", "true")
	h.mustRun("show", "--wait", id)
	return out
}

// stopAnother stops a run that was started before the one that is dead.
func (h *harness) stopAnother(string) outcome { return h.do("stop", h.id("other")) }

// TestWritersTidy: after the next command that writes, nothing of a killed run is left, and the catalog has it as lost.
// Living runs, and those of another root, do not change.
func TestWritersTidy(t *testing.T) {
	other := newHarness(t)
	theirs := other.killed()
	untouched := other.everything(theirs)
	for name, command := range tidyings {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			done, f := h.newID(), h.flag()
			h.start("--id", done, "--", "true").expect(t, "complete", "exit", 0)
			h.detach(h.id("other"), "--", "sleep", "1000")
			live := h.launch(h.newID(), "--input", f.input(), "--", "sh", "-c", "echo before >a; echo ready; "+awaited+"; echo after >b")
			live.await("ready")
			dead := h.killed()
			h.readersLeave(dead)
			of := h.possessions(live.id)
			out := command(h, done)
			if out.code != 0 || out.stderr != "" && name != "run --json" && name != "post-process" {
				t.Errorf("%+v", out)
			}
			if strings.Contains(out.stderr, "level=") {
				t.Errorf("it complains: %s", out.stderr)
			}
			h.expectTidied(dead)
			if now := h.possessions(live.id); !slices.Equal(of, now) {
				t.Errorf("of the live run there was %q, now %q", of, now)
			}
			f.raise()
			if r := live.wait(); r.State != "complete" || len(r.Outputs) != 2 {
				t.Errorf("the live run is %s with %v", r.State, r.paths())
			}
			if name != "stop" {
				h.mustRun("stop", h.id("other"))
			}
			if c := h.gc(); len(c.Lost)+len(c.Removed)+len(c.Committed) > 0 {
				t.Errorf("gc found %+v", c)
			}
		})
	}
	if now := other.everything(theirs); !maps.Equal(untouched, now) {
		t.Errorf("of another root there was %v, now %v", untouched, now)
	}
	other.expectLost(theirs)
}

// possessions are what a run has on the host but processes.
func (h *harness) possessions(id string) []string {
	return slices.Concat(matches("/tmp/scidex-analysis-"+id+"*"), groupsOf(id), mountsOf(id),
		matches(filepath.Join(h.root, "runs", id+"@*")), matches(filepath.Join(h.root, "blobs", "ingest", id+"-*")),
		matches(filepath.Join(h.root, "post-process", id+"@*")))
}

// readersLeave checks that a killed run has left something, and that commands that only read do not remove it.
func (h *harness) readersLeave(id string) {
	h.t.Helper()
	before := h.possessions(id)
	for _, look := range [][]string{{"ls"}, {"show", id}, {"logs", id}, {"outputs", "ls", id}, {"outputs", "find", "*"}, {"gc", "--dry-run"}} {
		h.do(look...) // logs of a run that is dead are an error
	}
	h.show(id).expect(h.t, "running", "", 0)
	if after := h.possessions(id); len(before) < 3 || !slices.Equal(before, after) {
		h.t.Errorf("a killed run has left %q, then there is %q", before, after)
	}
}

// expectTidied checks that the catalog has a killed run as lost and that nothing is left of it.
func (h *harness) expectTidied(id string) {
	h.t.Helper()
	h.show(id).expect(h.t, "lost", "supervisor_lost", 125)
	if left := append(processesOf(id), h.possessions(id)...); len(left) > 0 {
		h.t.Errorf("left behind: %q", left)
	}
}

// TestTidyAfterKill kills a run's launcher, supervisor or both, and the next run has its id.
func TestTidyAfterKill(t *testing.T) {
	for name, kill := range map[string]func(t *testing.T, l *launch){
		"launcher":   func(_ *testing.T, l *launch) { l.signal(syscall.SIGKILL) },
		"supervisor": func(t *testing.T, l *launch) { l.supervisor().kill(t) },
		"both": func(t *testing.T, l *launch) {
			supervisor := l.supervisor()
			l.signal(syscall.SIGSTOP) // so that it cannot clean up in between
			supervisor.kill(t)
			l.signal(syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			l := h.launch(id, "--", "sh", "-c", "mkdir deep; echo x >deep/x; chmod 0 deep; "+endless, id+"-marker")
			l.await("ready")
			all := l.family()
			kill(t, l)
			<-l.ended
			expectGone(t, all, id)
			r := h.start("--id", id, "--", "true")
			r.expect(t, "complete", "exit", 0)
			if r.Attempt != 2 {
				t.Errorf("attempt %d, want 2", r.Attempt)
			}
			h.show(id+"@1").expect(t, "lost", "supervisor_lost", 125)
			if left := leftovers(id, h.root); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestTidyIsHindered: a directory that cannot be removed is reported, does not change how the command ends, and is removed later.
func TestTidyIsHindered(t *testing.T) {
	h := newHarness(t)
	base := h.path("base")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	done := h.newID()
	h.start("--id", done, "--", "true").expect(t, "complete", "exit", 0)
	h.setenv("SCIDEX_OCI_TMP", base)
	dead := h.killed()
	free := hinder(t, base, filepath.Join(base, "scidex-analysis-"+dead, "work"))
	for range 2 {
		out := h.mustRun("pin", done)
		if out.stdout != "" || strings.Count(out.stderr, "\n") != 1 || !strings.Contains(out.stderr, "left to scidex-oci gc") || !strings.Contains(out.stderr, dead+"@1") {
			t.Errorf("pin said %q and %q", out.stdout, out.stderr)
		}
		h.show(dead).expect(t, "running", "", 0)
	}
	h.setenv("SCIDEX_OCI_TMP", "/tmp")
	r := h.start("--id", h.newID(), "--", "true")
	r.expect(t, "complete", "exit", 0)
	free()
	if out := h.mustRun("unpin", done); out.stderr != "" {
		t.Errorf("unpin said %q", out.stderr)
	}
	h.expectTidied(dead)
	if left := matches(filepath.Join(base, "*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestTidyWithoutACatalog: a catalog that takes no row does not prevent what a command does.
func TestTidyWithoutACatalog(t *testing.T) {
	h := newHarness(t)
	done := h.newID()
	h.start("--id", done, "--", "true").expect(t, "complete", "exit", 0)
	dead := h.killed()
	h.sql("CREATE TRIGGER wall BEFORE UPDATE OF state ON analysis_run WHEN new.state = 'lost' BEGIN SELECT RAISE(ABORT, 'a wall'); END")
	out := h.mustRun("pin", done)
	if !strings.Contains(out.stderr, "left to scidex-oci gc") || !strings.Contains(out.stderr, "a wall") {
		t.Errorf("pin said %q", out.stderr)
	}
	h.show(dead).expect(t, "running", "", 0)
	h.sql("DROP TRIGGER wall")
	h.mustRun("pin", done)
	h.expectTidied(dead)
}

// TestTidyLeavesTheHarvest: a run with an uncommitted result is left to gc, and the command that finds it says so.
func TestTidyLeavesTheHarvest(t *testing.T) {
	h := newHarness(t)
	_, want := h.murder("0", nil, nil)
	h = h.emptied()
	id := h.beforeTheCommit("0")
	before := h.possessions(id)
	out := h.mustRun("run", "--quiet", "--id", h.newID(), "--", "true")
	if out.stdout != "" || strings.Count(out.stderr, "\n") != 1 || !strings.Contains(out.stderr, id+"@1") || !strings.Contains(out.stderr, "harvested") {
		t.Errorf("run said %q and %q", out.stdout, out.stderr)
	}
	if out := h.do("rm", id); out.code != 125 || !strings.Contains(out.stderr, "scidex-oci gc") {
		t.Errorf("rm: %+v", out)
	}
	h.show(id).expect(t, "running", "", 0)
	if after := h.possessions(id); !slices.Equal(before, after) {
		t.Errorf("before %q, after %q", before, after)
	}
	h.expectRecovered(id, want)
}

// TestTidyKeepsTheOnlyCopy: if it can no longer be harvested, the directory of an ended analysis is kept and named.
func TestTidyKeepsTheOnlyCopy(t *testing.T) {
	h := newHarness(t)
	h = h.emptied()
	id := h.beforeTheCommit("0")
	h.changeAftermath(id, butItsEnd)
	dir := "/tmp/scidex-analysis-" + id
	out := h.mustRun("run", "--quiet", "--id", h.newID(), "--", "true")
	if out.stdout != "" || strings.Count(out.stderr, "\n") != 1 || !strings.Contains(out.stderr, dir) {
		t.Errorf("run said %q and %q", out.stdout, out.stderr)
	}
	r := h.show(id)
	r.expect(t, "lost", "supervisor_lost", 125)
	if r.Kept != dir || readFile(t, dir+"/two") != "names" {
		t.Errorf("kept %q", r.Kept)
	}
	ofTheirOwn(t, dir+"/d1")
	if left := h.possessions(id); !slices.Equal(left, []string{dir}) {
		t.Errorf("left are %q, want %s alone", left, dir)
	}
	h.mustRun("rm", id)
	if left := h.possessions(id); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestTidyGivesUp: a catalog that nobody can write to does not delay commands that do not write to it themselves.
func TestTidyGivesUp(t *testing.T) {
	h := newHarness(t)
	done := h.newID()
	h.start("--id", done, "--", "true").expect(t, "complete", "exit", 0)
	dead := h.killed()
	release := h.lockCatalog()
	out := h.do("stop", done)
	if out.code != 125 || !strings.Contains(out.stderr, "has ended already") || !strings.Contains(out.stderr, "not done within") {
		t.Errorf("stop said %d, %q", out.code, out.stderr)
	}
	release()
	h.show(dead).expect(t, "running", "", 0)
	h.mustRun("pin", done)
	h.expectTidied(dead)
}

// TestTidyGivesUpOnTheSupervisor stops (SIGSTOP) the supervisor that removes a directory for a user: the command ends
// all the same, and the supervisor with it.
func TestTidyGivesUpOnTheSupervisor(t *testing.T) {
	if theHost.root {
		t.Log("not covered here: root removes by itself; the tests as a user do")
		return
	}
	for name, started := range map[string]func(files int) bool{
		"at its start": func(int) bool { return true },
		"at its work":  func(files int) bool { return files < manyFiles },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			done := h.newID()
			h.start("--id", done, "--", "true").expect(t, "complete", "exit", 0)
			for range 20 {
				if h.heldUp(done, started) {
					return
				}
			}
			t.Error("no supervisor could be held up")
		})
	}
}

// manyFiles are so many that a removal can be interrupted.
const manyFiles = 3000

// heldUp lets pin clean up with a supervisor that is stopped when so many files are left, and reports whether the stop
// was in time.
func (h *harness) heldUp(done string, started func(files int) bool) bool {
	h.t.Helper()
	dead := h.killedDoing(fmt.Sprintf("chmod 755 .; seq %d | xargs touch; %s", manyFiles, endless))
	pin := h.begin("pin", done)
	held := pin.holdSupervisor(func() bool {
		entries, err := os.ReadDir("/tmp/scidex-analysis-" + dead + "/work")
		return err == nil && started(len(entries))
	})
	out := pin.end()
	if out.code != 0 {
		h.t.Errorf("pin: %+v", out)
	}
	if h.show(dead).State != "running" || !strings.Contains(out.stderr, "not done within") {
		h.t.Logf("held up %q, and too late or too early: %q", held, out.stderr)
		return false
	}
	h.mustRun("pin", done)
	h.expectTidied(dead)
	return true
}

// holdSupervisor stops the supervisor of a command as soon as it has started.
func (b *background) holdSupervisor(started func() bool) (held []string) {
	for len(held) == 0 {
		select {
		case <-b.done:
			return nil
		default:
		}
		if !started() {
			continue
		}
		held = processes(func(p process) bool {
			return p.parent == b.cmd.Process.Pid && bytes.HasPrefix(p.command, []byte("scidex-oci: supervisor")) && syscall.Kill(p.pid, syscall.SIGSTOP) == nil
		})
	}
	return held
}

// TestTidyReportsTheHook: a run that was killed in its hook is committed and cleaned up, and its hook is reported as not called.
func TestTidyReportsTheHook(t *testing.T) {
	h := newHarness(t)
	h.hook("echo ready >&2; exec sleep 1000")
	id := h.newID()
	l := h.launch(id, "--post-process", "./hook.sh", "--", "sh", "-c", "echo result >result")
	l.await("ready")
	all := l.family()
	l.signal(syscall.SIGKILL)
	<-l.ended
	expectGone(t, all, id+"-none")
	if len(matches(filepath.Join(h.root, "post-process", "*"))) != 1 {
		t.Error("there is no view to clean up")
	}
	out := h.mustRun("run", "--quiet", "--id", h.newID(), "--", "true")
	if !strings.Contains(out.stderr, "post-process") || !strings.Contains(out.stderr, id+"@1") {
		t.Errorf("run said %q", out.stderr)
	}
	h.show(id).expect(t, "error", "post_process", 125)
	if left := h.possessions(id); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	h.expectNoViews()
	h.mustRun("post-process", id, "--post-process", "true")
	h.show(id).expect(t, "complete", "exit", 0)
}

// TestTidyAtOnce: if many commands find dead runs at once, none fails, and nothing is left.
func TestTidyAtOnce(t *testing.T) {
	h := newHarness(t)
	dead := h.killedAtOnce(4, endless)
	var launches []*launch
	for range 6 {
		launches = append(launches, h.launch(h.newID(), "--", "sh", "-c", "echo hi >o"))
	}
	gc := make(chan error)
	go func() { gc <- h.command(theHost.bin, "gc").Run() }()
	for _, l := range launches {
		l.wait().expect(t, "complete", "exit", 0)
	}
	if err := <-gc; err != nil {
		t.Errorf("gc: %v", err)
	}
	for _, id := range dead {
		h.expectTidied(id)
	}
	if c := h.gc(); len(c.Lost)+len(c.Removed) > 0 {
		t.Errorf("gc found %+v", c)
	}
}

// TestTidySparesRunsOfOthers: a run of another host, by its row, and one of another catalog, by its state file, are not
// changed.
func TestTidySparesRunsOfOthers(t *testing.T) {
	h := newHarness(t)
	done := h.newID()
	h.start("--id", done, "--", "true").expect(t, "complete", "exit", 0)
	id := h.killed()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	before := h.possessions(id)
	catalog, _ := h.record(id)["catalog"].(string)
	for name, change := range map[string]struct{ there, back func() }{
		"host": {
			func() { h.sql("UPDATE analysis_run SET host = 'elsewhere' WHERE id = '" + id + "'") },
			func() { h.sql("UPDATE analysis_run SET host = '" + host + "' WHERE id = '" + id + "'") },
		},
		"catalog": {
			func() { h.exchangeInRecord(id, catalog, strings.Repeat("0", len(catalog))) },
			func() { h.exchangeInRecord(id, strings.Repeat("0", len(catalog)), catalog) },
		},
	} {
		change.there()
		if out := h.mustRun("pin", done); out.stderr != "" {
			t.Errorf("%s: pin said %q", name, out.stderr)
		}
		h.show(id).expect(t, "running", "", 0)
		if after := h.possessions(id); !slices.Equal(before, after) {
			t.Errorf("%s: before %q, after %q", name, before, after)
		}
		change.back()
	}
	h.mustRun("pin", done)
	h.expectTidied(id)
}

// exchangeInRecord changes a text in a state file.
func (h *harness) exchangeInRecord(id, from, to string) {
	h.t.Helper()
	text := readFile(h.t, h.recordPath(id))
	if !strings.Contains(text, from) {
		h.t.Fatalf("no %q in %s", from, text)
	}
	writeFile(h.t, h.recordPath(id), strings.Replace(text, from, to, 1), 0o600)
}
