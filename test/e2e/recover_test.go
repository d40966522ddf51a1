package e2e

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// various makes files of every kind that a harvest distinguishes, and waits.
const various = `import os, sys, time
os.umask(0)
for i in range(1200):
    mode = (0o644, 0o600, 0o444, 0o755, 0o000, 0o700, 0o666, 0o051)[i % 8]
    os.makedirs("d%d" % (i % 7), exist_ok=True)
    name = "d%d/f%d.csv" % (i % 7, i)
    open(name, "w").write("%d,%d\n" % (i // 3, i // 3))
    os.chmod(name, mode)
open("two", "w").write("names"); os.link("two", "names")
os.symlink("/etc/shadow", "link")
os.mkfifo("pipe")
open(b"odd\n\xff", "w").write("odd")
open("x.pyc", "w").write("excluded")
open("changed", "a").write("more")
os.chmod("d3", 0o300)
os.write(1, b"said\n"); os.write(2, b"complained\n") # each in one piece: the two may come on one stream
os.write(2, b"ready\n")
while not os.stat("/inputs/flag").st_size: time.sleep(0.01)
sys.exit(int(sys.argv[1]))
`

// murder is a run of various that ends with code, undisturbed if kill is nil.
func (h *harness) murder(code string, args []string, kill func(l *launch, end flag)) (id string, undisturbed result) {
	h.t.Helper()
	h.write("various.py", various, 0o644)
	h.write("staged/same", "same", 0o644)
	h.write("staged/changed", "staged", 0o644)
	id = h.newID()
	end := h.flag()
	l := h.launch(id, append(append(flags("--input", end.input(), "--stage", "staged", "--output", "d1/*.csv"), args...), "--script", "various.py", code)...)
	l.await("ready")
	if kill == nil {
		end.raise()
		return id, l.wait()
	}
	all := l.family()
	kill(l, end)
	l.signal(syscall.SIGKILL)
	<-l.ended
	expectGone(h.t, all, id)
	h.show(id).expect(h.t, "running", "", 0)
	return id, result{}
}

// beforeTheCommit kills when everything is harvested and published and nothing is committed.
func (h *harness) beforeTheCommit(code string, args ...string) (id string) {
	h.t.Helper()
	var release func()
	id, _ = h.murder(code, args, func(l *launch, end flag) {
		release = h.lockCatalog()
		end.raise()
		until(h.t, hangTimeout, "all blobs are there", func() bool { return len(matches(h.blobPath("*"))) >= 401 })
	})
	release()
	return id
}

// expectRecovered checks that gc commits a run as it would have been committed.
func (h *harness) expectRecovered(id string, want result) {
	h.t.Helper()
	c := h.gc()
	if !slices.Equal(c.committed(), []string{id}) || len(c.Lost) > 0 {
		h.t.Errorf("gc committed %v and marked %v lost", c.Committed, c.Lost)
	}
	got := h.show(id)
	got.expect(h.t, want.State, want.Reason, want.ExitCode)
	if got.Message != want.Message || got.OutputsTotal != want.OutputsTotal || got.RejectedTotal != want.RejectedTotal {
		h.t.Errorf("%q with %d outputs and %d rejected, want %q with %d and %d", got.Message, got.OutputsTotal, got.RejectedTotal,
			want.Message, want.OutputsTotal, want.RejectedTotal)
	}
	if !reflect.DeepEqual(got.Outputs, want.Outputs) {
		for i, o := range got.Outputs {
			if i < len(want.Outputs) && !reflect.DeepEqual(o, want.Outputs[i]) {
				h.t.Errorf("the first other output is %+v, want %+v", o, want.Outputs[i])
				break
			}
		}
	}
	if !reflect.DeepEqual(got.Rejected, want.Rejected) || !reflect.DeepEqual(got.Logs, want.Logs) || !reflect.DeepEqual(got.Script, want.Script) {
		h.t.Errorf("rejected %v, logs %+v, script %+v; want %v, %+v, %+v", got.Rejected, got.Logs, got.Script, want.Rejected, want.Logs, want.Script)
	}
	if !strings.Contains(strings.Join(got.Warnings, "\n"), "committed by recovery") || got.StartedAt == nil || got.Usage.WallMS == 0 {
		h.t.Errorf("warnings %q, started %v, usage %+v", got.Warnings, got.StartedAt, got.Usage)
	}
	if out := h.mustRun("logs", id).stdout; out != "said\n" {
		h.t.Errorf("the log is %q", out)
	}
	h.mustRun("catalog", "check", "--digests")
	if left := leftovers(id, h.root); len(left) > 0 {
		h.t.Errorf("after gc: %v", left)
	}
	if c := h.gc(); len(c.Removed)+len(c.Committed) > 0 {
		h.t.Errorf("a second gc found %+v", c)
	}
}

func (c collected) committed() (ids []string) {
	for _, run := range c.Committed {
		ids = append(ids, run.ID)
	}
	return ids
}

// TestRecovery kills launchers after the analysis has ended: gc does what they would have done.
func TestRecovery(t *testing.T) {
	h := newHarness(t)
	_, want := h.murder("0", nil, nil)
	want.expect(t, "complete", "exit", 0)
	t.Run("before the commit", func(t *testing.T) {
		h := h.in(t)
		h.expectRecovered(h.emptied().beforeTheCommit("0"), want)
	})
	t.Run("in the harvest", func(t *testing.T) {
		h := h.in(t).emptied()
		id, _ := h.murder("0", nil, func(_ *launch, end flag) {
			end.raise()
			until(t, hangTimeout, "a part is harvested", func() bool { return len(matches(filepath.Join(h.root, "blobs/ingest/*/*"))) > 300 })
		})
		h.expectRecovered(id, want)
	})
	t.Run("and gc as well", func(t *testing.T) {
		h := h.in(t).emptied()
		id := h.beforeTheCommit("0")
		release := h.lockCatalog()
		h.ageBlobs()
		gc := h.command(theHost.bin, "gc")
		if err := gc.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, hangTimeout, "gc has harvested", func() bool { return h.held(id) && h.young() > 100 })
		if err := gc.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = gc.Wait() // it was killed
		release()
		h.expectRecovered(id, want)
	})
	t.Run("and the commit fails again", func(t *testing.T) {
		h := h.in(t).emptied()
		id := h.beforeTheCommit("0")
		if out := h.mustRun("gc", "--dry-run").stdout; !strings.Contains(out, "would commit     "+id) || strings.Contains(out, "lost") {
			t.Errorf("gc --dry-run: %s", out)
		}
		w := h.sqliteWall()
		w.raise()
		if out := h.do("gc"); out.code != 125 || !strings.Contains(out.stderr, "a wall") {
			t.Errorf("gc: %d, %s%s", out.code, out.stdout, out.stderr)
		}
		h.show(id).expect(t, "running", "", 0)
		w.tear()
		h.expectRecovered(id, want)
	})
	t.Run("of a run that fails", func(t *testing.T) {
		h := h.in(t).emptied()
		want := want
		want.State, want.ExitCode, want.Message = "failed", 3, "the analysis exited with 3: ready"
		h.expectRecovered(h.beforeTheCommit("3"), want)
	})
}

// TestRecoveryWithoutItsIngest has lost what was harvested: gc makes another directory for it if it commits the run,
// and none in a dry run.
func TestRecoveryWithoutItsIngest(t *testing.T) {
	h := newHarness(t)
	id := h.beforeTheCommit("0")
	ingests := filepath.Join(h.root, "blobs/ingest/*")
	for _, dir := range matches(ingests) {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if out := h.mustRun("gc", "--dry-run").stdout; !strings.Contains(out, "would commit     "+id) {
		t.Errorf("gc --dry-run: %s", out)
	}
	if made := matches(ingests); len(made) > 0 {
		t.Errorf("gc --dry-run made %v", made)
	}
	if c := h.gc(); !slices.Equal(c.committed(), []string{id}) || len(c.Lost) > 0 {
		t.Errorf("gc: %+v", c)
	}
	r := h.show(id)
	r.expect(t, "complete", "exit", 0)
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "the logs are lost") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if made := matches(ingests); len(made) > 0 {
		t.Errorf("gc left %v", made)
	}
}

// emptied gives the harness another root.
func (h *harness) emptied() *harness {
	h.root = filepath.Join(h.t.TempDir(), "root")
	h.env = append(slices.Clone(h.env), "SCIDEX_OCI_ROOT="+h.root)
	h.t.Cleanup(func() {
		for _, left := range leftovers(h.run, h.root) {
			h.t.Errorf("left behind: %s", left)
		}
	})
	return h
}

// young is how many blobs were published since ageBlobs.
func (h *harness) young() (count int) {
	for _, blob := range matches(h.blobPath("*")) {
		if info, err := os.Lstat(blob); err == nil && time.Since(info.ModTime()) < 24*time.Hour {
			count++
		}
	}
	return count
}

// TestRecoveryLeavesTheHook: gc commits the run and reports that its hook was not called.
func TestRecoveryLeavesTheHook(t *testing.T) {
	h := newHarness(t)
	h.hook(`test "$(cat "$SCIDEX_OUTPUT_DIR/two")" = names`)
	id := h.beforeTheCommit("0", "--post-process", "./hook.sh", "--keep", "failed")
	if c := h.collectOwed(); !slices.Equal(c, []string{id}) {
		t.Errorf("gc tells of %q", c)
	}
	r := h.show(id)
	r.expect(t, "error", "post_process", 125)
	if r.Kept == "" || readFile(t, filepath.Join(r.Kept, "two")) != "names" {
		t.Errorf("kept %q", r.Kept)
	}
	h.mustRun("post-process", id, "--post-process", "./hook.sh")
	h.show(id).expect(t, "complete", "exit", 0)
	h.mustRun("rm", id)
}

// TestKeptFromMemory has no room for the outcome of a run in memory: its files go to disk, and those that cannot are reported.
func TestKeptFromMemory(t *testing.T) {
	h := newHarness(t)
	h.emptied().mustRun("ls")
	if err := os.WriteFile(filepath.Join(h.root, "outcomes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := h.sqliteWall()
	w.raise()
	id := h.newID()
	r := h.start("--id", id, "--work-storage=tmpfs", "--", "sh", "-c", "echo x >x; mkfifo pipe")
	r.expect(t, "error", "commit", 125)
	dir := "/tmp/scidex-analysis-" + id
	if !strings.Contains(r.Message, "nor could it be kept") || !strings.Contains(r.Message, "stays in \""+dir+"\"") {
		t.Errorf("%q", r.Message)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, "not kept: pipe (") }) {
		t.Errorf("no word of the pipe in %q", r.Warnings)
	}
	if got := readFile(t, filepath.Join(dir, "x")); got != "x\n" {
		t.Errorf("x is %q", got)
	}
	w.tear()
	if err := os.Remove(filepath.Join(h.root, "outcomes")); err != nil {
		t.Fatal(err)
	}
	h.mustRun("gc")
	if r := h.show(id); r.State != "lost" || r.Kept != dir {
		t.Errorf("after gc: %s, kept %q", r.State, r.Kept)
	}
	h.mustRun("rm", id)
}

// TestNeitherCommittedNorKept has no room for the outcome either: gc harvests the directory once more.
func TestNeitherCommittedNorKept(t *testing.T) {
	h := newHarness(t)
	_, want := h.murder("0", nil, nil)
	h.emptied().mustRun("ls")
	if err := os.WriteFile(filepath.Join(h.root, "outcomes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := h.sqliteWall()
	w.raise()
	id, r := h.murder("0", nil, nil)
	r.expect(t, "error", "commit", 125)
	for _, word := range flags("a wall", "nor could it be kept", "/tmp/scidex-analysis-"+id) {
		if !strings.Contains(r.Message, word) {
			t.Errorf("no %q in %q", word, r.Message)
		}
	}
	w.tear()
	if err := os.Remove(filepath.Join(h.root, "outcomes")); err != nil {
		t.Fatal(err)
	}
	h.expectRecovered(id, want)
}
