package vm

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	limits = []string{"--memory=300MiB", "--pids=33", "--cpus=0.5"}
	files  = map[string]string{
		"memory.max": "314572800", "memory.swap.max": "0", "memory.oom.group": "1",
		"pids.max": "33", "cpu.max": "50000 100000",
	}
)

// TestRoads starts a run from every kind of unit. The kernel's files have the limits, in a scope of the run's own, or
// in the delegated unit of the launcher.
func TestRoads(t *testing.T) {
	const own = "scidex-oci-*.scope"
	session := []string{"systemd-run", "--quiet", "--wait", "--pipe", "--property=User=ada", "--property=PAMName=login"}
	for name, c := range map[string]struct {
		person string // who starts the command
		whose  string // who runs the analysis
		prefix []string
		unit   string // the unit that the group is in
		slice  string
	}{
		"cron":                 {"ada", "ada", nil, own, "app.slice"},
		"a session":            {"root", "ada", session, own, "app.slice"},
		"a user's service":     {"ada", "ada", []string{"systemd-run", "--quiet", "--wait", "--pipe", "--slice=mine"}, own, "mine.slice"},
		"a user's scope":       {"ada", "ada", []string{"systemd-run", "--quiet", "--scope"}, own, "app.slice"},
		"a delegated scope":    {"ada", "ada", []string{"systemd-run", "--quiet", "--scope", "--property=Delegate=yes"}, "run-*.scope", "app.slice"},
		"a delegated service":  {"ada", "ada", []string{"systemd-run", "--quiet", "--wait", "--pipe", "--property=Delegate=yes"}, "run-*.service", "app.slice"},
		"root's service":       {"root", "root", nil, own, "system.slice"},
		"root's own slice":     {"root", "root", []string{"systemd-run", "--quiet", "--wait", "--pipe", "--slice=theirs"}, own, "theirs.slice"},
		"root's session":       {"root", "root", slices.Replace(slices.Clone(session), 4, 5, "--property=User=root"), own, "user-0.slice"},
		"root, delegated unit": {"root", "root", []string{"systemd-run", "--quiet", "--scope", "--property=Delegate=yes"}, "run-*.scope", "system.slice"},
	} {
		t.Run(name, func(t *testing.T) {
			p, whose := as(t, c.person), as(t, c.whose)
			prefix := slices.Clone(c.prefix)
			if len(prefix) > 0 {
				prefix = p.manager(prefix...)
			}
			// A command of systemd's has an environment of its own.
			prefix = append(prefix, "env", "HOME="+whose.home)
			w := p.start(prefix, append(limits, "--data=none", "--docs=none")...)
			group := w.group()
			expectLimits(t, group, files)
			unit := filepath.Dir(group)
			if ok, _ := filepath.Match(c.unit, filepath.Base(unit)); !ok || filepath.Base(filepath.Dir(unit)) != c.slice {
				t.Errorf("the group is %s, want it in a unit %s of %s", group, c.unit, c.slice)
			}
			if c.unit == own { // nothing of systemd's comes between the limits and the kernel
				expectLimits(t, unit, map[string]string{"memory.max": "max", "pids.max": "max", "cpu.max": "max 100000"})
			}
			r := w.end()
			r.expect(t, "complete", "exit")
			for _, limit := range []string{"memory", "pids", "cpus"} {
				if r.by(limit) != "cgroup" {
					t.Errorf("%s is held by %s", limit, r.by(limit))
				}
			}
		})
	}
	expectNoScope(t)
}

// expectNoScope waits until no scope of scidex-oci is left, in the kernel and in systemd.
func expectNoScope(t *testing.T) {
	t.Helper()
	until(t, "the scopes end", func() bool { return len(dirs("scidex-oci*")) == 0 })
	for _, name := range []string{"ada", "root"} {
		p := as(t, name)
		list := p.manager("systemctl", "list-units", "--all", "--plain", "--no-legend", "scidex-oci*")
		until(t, "systemd forgets the scopes", func() bool { return p.do(list...) == "" })
	}
}

// TestScopes starts five launchers at once: each gets a scope of its own.
func TestScopes(t *testing.T) {
	for _, name := range []string{"ada", "root"} {
		p := as(t, name)
		var all []*waiting
		for range 5 {
			all = append(all, p.launch(nil, limits...))
		}
		var scopes []string
		for _, w := range all {
			w.await()
			scopes = append(scopes, filepath.Dir(w.group()))
			expectLimits(t, w.group(), files)
		}
		slices.Sort(scopes)
		if len(slices.Compact(scopes)) != len(all) {
			t.Errorf("%s: five launchers have the scopes %q", name, scopes)
		}
		for _, w := range all {
			w.end().expect(t, "complete", "exit")
		}
	}
	expectNoScope(t)
}

// TestKilled ends a run from outside: nothing is left of it, and the result says what happened.
func TestKilled(t *testing.T) {
	for _, name := range []string{"ada", "root"} {
		t.Run("the launcher of "+name, func(t *testing.T) {
			p := as(t, name)
			w := p.start(nil)
			_ = w.group()
			if err := w.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = w.cmd.Wait() // killed
			expectNoScope(t)
			if out := p.do(bin, "gc", "--json"); !strings.Contains(out, w.id) {
				t.Errorf("gc says %q", out)
			}
		})
		t.Run("the supervisor of "+name, func(t *testing.T) {
			w := as(t, name).start(nil)
			as(t, "root").do("kill", "-KILL", supervisorOf(t, w))
			w.ended().expect(t, "lost", "supervisor_lost")
			expectNoScope(t)
		})
		// systemd sends SIGTERM to all processes of the scope, and the supervisor leaves that to the launcher.
		t.Run("the scope of "+name, func(t *testing.T) {
			p := as(t, name)
			w := p.start(nil)
			p.do(p.manager("systemctl", "stop", filepath.Base(filepath.Dir(w.group())))...)
			w.ended().expect(t, "failed", "signal")
			expectNoScope(t)
		})
	}
}

// supervisorOf returns the process id of a run's supervisor, the only process in the leaf of its scope.
func supervisorOf(t *testing.T, w *waiting) string {
	t.Helper()
	out, err := os.ReadFile(filepath.Join(filepath.Dir(w.group()), "scidex-oci", "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}
	pid := strings.TrimSpace(string(out))
	if _, err := strconv.Atoi(pid); err != nil {
		t.Fatalf("in the leaf of the scope are %q", out)
	}
	return pid
}
