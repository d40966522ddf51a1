package vm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	hog   = `x = b"x" * (512 << 20)`
	forks = `import os, signal
for _ in range(100):
    if os.fork() == 0: signal.pause()`
)

// scope is the prefix of a command in a scope, or another unit, of systemd's with limits, about which the command gets
// no information.
func (p person) scope(kind ...string) []string {
	if len(kind) == 0 {
		kind = []string{"--scope"}
	}
	argv := []string{"systemd-run", "--quiet", "--property=MemoryMax=96M", "--property=TasksMax=60"}
	return append(p.manager(append(argv, kind...)...), "env", "HOME="+p.home)
}

// within runs an analysis in such a unit. When the kernel kills in a scope, this version of systemd stops the rest: the
// run has all the time that it needs for that.
func (p person) within(kind []string, args ...string) result {
	p.t.Helper()
	argv := append(p.scope(kind...), bin, "run", "--json", "--data=none", "--docs=none", "--grace=1m")
	return p.decode(p.command(append(argv, args...)...).Output())
}

// TestOuterScope runs with --limits outer in another scope: the result has what the kernel's files have, and which
// limit ended a run.
func TestOuterScope(t *testing.T) {
	for _, name := range []string{"ada", "root"} {
		t.Run(name, func(t *testing.T) {
			p := as(t, name)
			w := p.start(p.scope("--scope", "--property=CPUQuota=150%"), "--limits=outer", "--memory=64MiB", "--data=none", "--docs=none")
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", w.cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			group := filepath.Join("/sys/fs/cgroup", strings.TrimPrefix(strings.TrimSpace(string(text)), "0::"))
			expectLimits(t, group, map[string]string{"memory.max": "100663296", "pids.max": "60", "cpu.max": "150000 100000"})
			if made := dirs("scidex-oci*"); len(made) > 0 {
				t.Errorf("made %q", made)
			}
			r := w.end()
			r.expect(t, "complete", "exit")
			for limit, want := range map[string]string{"memory": "100663296", "pids": "60", "cpus": "1.5"} {
				if r.by(limit) != "outer" || r.effective(limit) != want {
					t.Errorf("%s: %+v", limit, r.Enforced)
				}
			}
			if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "96MiB of memory, more than the 64MiB asked for") {
				t.Errorf("warnings %q", r.Warnings)
			}

			outer := []string{"--limits=outer", "--"}
			r = p.within(nil, append(outer, "python3", "-c", hog)...)
			r.expect(t, "failed", "out_of_memory")
			if r.Message != "out of memory: the kernel killed at the limit of 96MiB of a control group around the run (oom_kill 1)" {
				t.Errorf("%q, %+v, warnings %q", r.Message, r.Evidence, r.Warnings)
			}
			if name == "root" {
				return // the same road from here
			}
			goesOn := []string{"--wait", "--pipe", "--property=OOMPolicy=continue"}
			r = p.within(goesOn, append(outer, "sh", "-c", "python3 -c '"+hog+"'; exit 0")...)
			r.expect(t, "complete", "exit")
			if r.Evidence.OOMKills != 1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "killed 1 process of the run for lack of memory, and the analysis went on") {
				t.Errorf("a child: %+v, warnings %q", r.Evidence, r.Warnings)
			}
			r = p.within(nil, append(outer, "python3", "-c", forks)...)
			r.expect(t, "failed", "pids_limit")
			if !strings.Contains(r.Message, "the limit of 60 processes was reached") {
				t.Errorf("%q, %+v", r.Message, r.Evidence)
			}
		})
	}
}

// TestWhoseMemory ends runs that have a group of their own by the limit around it, and by their own.
func TestWhoseMemory(t *testing.T) {
	for memory, want := range map[string]string{
		"200MiB": "at the limit of 96MiB of a control group around the run; the run's own limit of 200MiB was not reached (",
		"48MiB":  "out of memory: the kernel killed at the limit of 48MiB (",
	} {
		r := as(t, "ada").within([]string{"--scope", "--property=Delegate=yes"}, "--pids=50", "--memory="+memory, "--", "python3", "-c", hog)
		r.expect(t, "failed", "out_of_memory")
		if !strings.Contains(r.Message, want) || r.by("memory") != "cgroup" {
			t.Errorf("with %s: %q, %+v", memory, r.Message, r.Evidence)
		}
	}
}
