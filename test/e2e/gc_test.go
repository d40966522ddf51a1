package e2e

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// killed leaves a run whose launcher was killed while it ran.
func (h *harness) killed() string {
	h.t.Helper()
	return h.killedDoing(endless)
}

// killedDoing is killed with a script that says when it is ready.
func (h *harness) killedDoing(script string) string {
	h.t.Helper()
	return h.killedAtOnce(1, script)[0]
}

// killedAtOnce leaves several: the start of one would remove what another has left.
func (h *harness) killedAtOnce(n int, script string) (ids []string) {
	h.t.Helper()
	var launches []*launch
	for range n {
		id := h.newID()
		l := h.launch(id, "--", "sh", "-c", script, id+"-marker")
		l.await("ready")
		until(h.t, hangTimeout, "the row names the directory", func() bool { return h.placed(id) })
		launches, ids = append(launches, l), append(ids, id)
	}
	for _, l := range launches {
		all := l.family()
		l.signal(syscall.SIGKILL)
		<-l.ended
		expectGone(h.t, all, l.id)
	}
	return ids
}

// placed reports whether the row of a run has the inode of its directory.
func (h *harness) placed(id string) bool {
	h.t.Helper()
	out, err := exec.Command("/usr/bin/python3", "-c", `
import json, sqlite3, sys
with sqlite3.connect(sys.argv[1]) as catalog:
    place, = catalog.execute("SELECT place FROM analysis_run WHERE id = ?", (sys.argv[2],)).fetchone()
print(json.loads(place).get("ino", 0))
`, filepath.Join(h.root, "catalog.db"), id).CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return string(out) != "0\n"
}

// everything describes what gc could change.
func (h *harness) everything(id string) map[string]string {
	h.t.Helper()
	all := snapshot(h.t, h.root)
	for path := range all { // SQLite's, written by readers too
		if strings.HasPrefix(filepath.Base(path), "catalog.db") || path == h.root {
			delete(all, path)
		}
	}
	all["catalog"] = strings.Join(slices.Concat([]string{h.mustRun("ls", "--json").stdout}, groupsOf(id)), "\n")
	all["directory"] = strings.Join(matches("/tmp/scidex-analysis-"+id+"*"), "\n")
	return all
}

// TestDryRunChangesNothing: gc --dry-run prints what gc then does.
func TestDryRunChangesNothing(t *testing.T) {
	h := newHarness(t)
	id := h.killed()
	before := h.everything(id)
	dry := h.gc("--dry-run")
	if after := h.everything(id); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	wet := h.gc()
	if !dry.DryRun || wet.DryRun {
		t.Errorf("dry_run is %v and %v", dry.DryRun, wet.DryRun)
	}
	dir := "/tmp/scidex-analysis-" + id
	if len(dry.Lost) != 1 || dry.Lost[0].ID != id || !slices.Contains(dry.Removed, dir) {
		t.Errorf("gc --dry-run said %+v", dry)
	}
	slices.Sort(dry.Removed)
	slices.Sort(wet.Removed)
	if !slices.Equal(dry.Lost, wet.Lost) || !slices.Equal(dry.Removed, wet.Removed) {
		t.Errorf("gc --dry-run said %+v, gc did %+v", dry, wet)
	}
	if theHost.cgroup && !slices.ContainsFunc(wet.Removed, func(path string) bool { return strings.HasPrefix(path, "/sys/fs/cgroup") }) {
		t.Errorf("no control group among %q", wet.Removed)
	}
}

// TestGCSparesLiveRuns: gc touches nothing of a run that is alive, nor of another root.
func TestGCSparesLiveRuns(t *testing.T) {
	h, other := newHarness(t), newHarness(t)
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--input", end.input(), "--", "sh", "-c", "echo before >a; echo ready; "+awaited+"; echo after >b; cat a")
	l.await("ready")
	dead := h.killed()
	before := matches("/tmp/scidex-analysis-" + id + "*")
	for range 5 {
		c := h.gc()
		if slices.ContainsFunc(slices.Concat(c.Removed, c.Foreign, c.Kept), func(path string) bool { return strings.Contains(path, id) }) {
			t.Errorf("gc about a live run: %+v", c)
		}
		c = other.gc()
		if !slices.Contains(c.Foreign, before[0]) || len(c.Removed)+len(c.Lost) > 0 {
			t.Errorf("gc of another root: %+v", c)
		}
	}
	if got := h.show(id); got.State != "running" {
		t.Errorf("the live run is %s", got.State)
	}
	h.show(dead).expect(t, "lost", "supervisor_lost", 125)
	end.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if len(r.Outputs) != 2 {
		t.Errorf("outputs %v", r.paths())
	}
}

// TestForeignDirectories: directories that the platform makes itself are listed and not removed.
func TestForeignDirectories(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls")
	foreign := "/tmp/scidex-analysis-" + h.newID()
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(foreign) })
	writeFile(t, filepath.Join(foreign, "precious"), "mine", 0o644)
	before := snapshot(t, foreign)
	c := h.gc()
	if !slices.Contains(c.Foreign, foreign) {
		t.Errorf("gc names %q as foreign, want %s among them", c.Foreign, foreign)
	}
	if after := snapshot(t, foreign); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	os.RemoveAll(foreign)
}

// TestRefusesTakenNames: a run is refused if its name is taken, and the file of that name does not change.
func TestRefusesTakenNames(t *testing.T) {
	for name, take := range map[string]func(path, victim string) error{
		"directory":        func(path, _ string) error { return os.Mkdir(path, 0o777) },
		"file":             func(path, _ string) error { return os.WriteFile(path, []byte("mine"), 0o666) },
		"symlink":          func(path, victim string) error { return os.Symlink(victim, path) },
		"dangling symlink": func(path, victim string) error { return os.Symlink(victim+"/nothing", path) },
		"FIFO":             func(path, _ string) error { return syscall.Mkfifo(path, 0o666) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			victim := filepath.Dir(h.write("victim/file", "precious", 0o644))
			id := h.newID()
			path := "/tmp/scidex-analysis-" + id
			if err := take(path, victim); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(path) })
			before, target := snapshot(t, path), snapshot(t, victim)
			h.mustRefuse([]string{"run", "--id", id, "--", "sh", "-c", "echo x >x"}, path, "--id")
			h.gc()
			if after := snapshot(t, path); !maps.Equal(before, after) {
				t.Errorf("before %v, after %v", before, after)
			}
			if after := snapshot(t, victim); !maps.Equal(target, after) {
				t.Errorf("the victim before %v, after %v", target, after)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			h.start("--id", id, "--", "true").expect(t, "complete", "exit", 0)
		})
	}
}

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
