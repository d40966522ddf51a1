package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// crew is a `batch` that is under way: all of its analyses are in one supervisor.
type crew struct {
	h       *harness
	cmd     *exec.Cmd
	results chan result // closed at the end
	got     map[string]result
}

// marked is one of its analyses: a script with an argument by which it is found.
func marked(id, script string) manifest {
	return manifest{"id": id, "command": flags("sh", "-c", script, id+"-marker"), "data": "none", "docs": "none", "memory": "64MiB"}
}

// standingBy is an analysis that waits until its flag is raised.
func standingBy(id string, end flag, before, after string) manifest {
	return marked(id, before+"\nsh -c '"+awaited+`' "$0-up"`+"\n"+after).and("inputs", flags(end.input()))
}

func (h *harness) crew(jobs int, lines ...manifest) *crew {
	h.t.Helper()
	file := h.lines(lines...)
	c := &crew{h: h, results: make(chan result, len(lines)), got: map[string]result{}}
	c.cmd = exec.CommandContext(h.t.Context(), theHost.bin, "batch", "--jobs", strconv.Itoa(jobs), file)
	c.cmd.Dir, c.cmd.Env = h.dir, h.env
	stdout, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		scanner := bufio.NewScanner(stdout)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			if r, err := parseResult(append(scanner.Bytes(), '\n')); err == nil {
				c.results <- r
			} else {
				h.t.Errorf("%v: %s", err, scanner.Text())
			}
		}
		_ = c.cmd.Wait() // the results say how it went
		close(c.results)
		close(ended)
	}()
	h.t.Cleanup(func() { _ = c.cmd.Process.Kill(); <-ended })
	return c
}

// await waits until runs wait for their flags.
func (c *crew) await(ids ...string) {
	c.h.t.Helper()
	for _, id := range ids {
		until(c.h.t, hangTimeout, id+" stands by", func() bool { return len(with(id+"-marker-up")) > 0 })
	}
}

// ends waits for the results of runs.
func (c *crew) ends(ids ...string) {
	c.h.t.Helper()
	for _, id := range ids {
		for c.got[id].ID == "" {
			r, more := <-c.results
			if !more {
				c.h.t.Fatalf("the batch has ended without a result of %s", id)
			}
			c.got[r.ID] = r
		}
	}
}

// supervisors of it that live.
func (c *crew) supervisors() (all []watched) {
	c.h.t.Helper()
	for _, w := range familyOf(c.h.t, c.cmd.Process.Pid) {
		p, ok := readProcess(filepath.Join("/proc", w.id()))
		// A process that a supervisor has just forked for a container has its name, too.
		if ok && p.parent == c.cmd.Process.Pid && strings.HasPrefix(w.command, "scidex-oci: supervisor") {
			all = append(all, w)
		}
	}
	return all
}

func (c *crew) supervisor() watched {
	c.h.t.Helper()
	all := c.supervisors()
	if len(all) != 1 {
		c.h.t.Fatalf("the batch has %d supervisors, want one", len(all))
	}
	return all[0]
}

func (h *harness) newIDs(n int) (ids []string) {
	for range n {
		ids = append(ids, h.newID())
	}
	return ids
}

// apart prints what each run has of its own: its namespaces, an abstract socket and a port that all of them use.
const apart = `python3 -c '
import socket
for family, name in (socket.AF_UNIX, "\0crew"), (socket.AF_INET, ("127.0.0.1", 4000)):
    s = socket.socket(family); s.bind(name); s.listen(); s.set_inheritable(True); s.detach()
import os; os.execv("/bin/sh", ["sh", "-c", "sleep 1000"])' &
until grep -q @crew /proc/net/unix; do sleep 0.05; done
for n in user pid mnt net ipc uts cgroup; do readlink /proc/self/ns/$n; done >namespaces`

// TestCrewApart: runs of one supervisor see nothing of each other, and reach nothing.
func TestCrewApart(t *testing.T) {
	h := newHarness(t)
	end, ids := h.flag(), h.newIDs(4)
	var lines []manifest
	for _, id := range ids {
		lines = append(lines, standingBy(id, end, apart,
			`for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done >seen; touch /tmp/$0; ls /tmp /dev/shm >>seen; kill -9 -1; kill -9 $$`))
	}
	c := h.crew(4, lines...)
	c.await(ids...)
	c.supervisor()
	end.raise()
	c.ends(ids...)
	had := map[string]string{}
	for _, id := range ids {
		r := c.got[id]
		r.expect(t, "failed", "signal", 137) // its own, and nobody else's before it was through
		for _, other := range ids {
			if seen := h.blob(r.output("seen").SHA256); strings.Contains(seen, other) != (other == id) {
				t.Errorf("%s sees of %s: %q", id, other, seen)
			}
		}
		own := strings.Fields(h.blob(r.output("namespaces").SHA256))
		if theHost.ranged {
			own = append(own, fmt.Sprint("uid ", r.Sandbox.UIDOnHost))
		}
		if len(own) < 7 {
			t.Errorf("%s has %q", id, own)
		}
		for _, what := range own {
			if had[what] != "" {
				t.Errorf("%s and %s have both %s", had[what], id, what)
			}
			had[what] = id
		}
	}
}

// TestCrewOneEnds: however one run ends, another goes on, and its usage is counted separately.
func TestCrewOneEnds(t *testing.T) {
	h := newHarness(t)
	end, ids := h.flag(), h.newIDs(4)
	c := h.crew(4,
		standingBy(ids[0], end, "", "echo whole >out"),
		marked(ids[1], "trap '' TERM; sleep 1000").and("timeout", "200ms").and("grace", "100ms"),
		marked(ids[2], "kill -9 -1; kill -9 $$"),
		marked(ids[3], "for i in $(seq 200); do sleep 1000 & done; exit 3"),
	)
	c.await(ids[0])
	supervisor := c.supervisor()
	c.ends(ids[1:]...)
	c.got[ids[1]].expect(t, "failed", "timeout", 124)
	c.got[ids[2]].expect(t, "failed", "signal", 137)
	if r := c.got[ids[3]]; r.State != "failed" {
		t.Errorf("%s ended as %s", r.ID, r.State)
	}
	c.await(ids[0])
	end.raise()
	c.ends(ids[0])
	c.got[ids[0]].expect(t, "complete", "exit", 0)
	if !slices.Equal(c.got[ids[0]].paths(), []string{"out"}) || c.got[ids[0]].Evidence.PidsDenied != 0 {
		t.Errorf("%+v", c.got[ids[0]])
	}
	until(t, gone, "the supervisor ends with its batch", func() bool { return !supervisor.alive() })
}

// TestCrewStopped: `stop` of several runs, and again of one that ends slowly, does not affect the others.
func TestCrewStopped(t *testing.T) {
	h := newHarness(t)
	end, ids := h.flag(), h.newIDs(4)
	patient := func(id string) manifest { return standingBy(id, end, "trap '' TERM", "").and("grace", "1h") }
	c := h.crew(3,
		standingBy(ids[0], end, "", "echo whole >out"),
		patient(ids[1]),
		patient(ids[2]),
		marked(ids[3], "true"),
	)
	c.await(ids[:3]...)
	first := exec.CommandContext(t.Context(), theHost.bin, "stop", ids[1], ids[2])
	first.Dir, first.Env = h.dir, h.env
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Wait() }()
	h.mustRun("stop", ids[1], ids[2]) // which cuts the grace period of both, in whatever order they are heard
	c.ends(ids[1], ids[2], ids[3])
	for _, id := range ids[1:3] {
		c.got[id].expect(t, "canceled", "stopped", 143)
	}
	c.got[ids[3]].expect(t, "complete", "exit", 0)
	c.await(ids[0])
	end.raise()
	c.ends(ids[0])
	c.got[ids[0]].expect(t, "complete", "exit", 0)
}

// TestCrewSupervisorKilled: its runs are lost, and later runs get another one.
func TestCrewSupervisorKilled(t *testing.T) {
	h := newHarness(t)
	end, ids := h.flag(), h.newIDs(5)
	var lines []manifest
	for _, id := range ids[:4] {
		lines = append(lines, standingBy(id, end, "", ""))
	}
	c := h.crew(4, append(lines, marked(ids[4], "echo late >out"))...)
	c.await(ids[:4]...)
	all := familyOf(t, c.cmd.Process.Pid)[1:]
	c.supervisor().kill(t)
	c.ends(ids...)
	expectGone(t, all, ids[0]+"-marker")
	for _, id := range ids[:4] {
		c.got[id].expect(t, "lost", "supervisor_lost", 125)
	}
	c.got[ids[4]].expect(t, "complete", "exit", 0)
	h.touched(h.gc())
}

// TestCrewKilled: after the death of launcher and supervisor gc finds every run lost, and leaves nothing of them.
func TestCrewKilled(t *testing.T) {
	h := newHarness(t)
	end, ids := h.flag(), h.newIDs(4)
	var lines []manifest
	for _, id := range ids {
		lines = append(lines, standingBy(id, end, "echo kept >partial", ""))
	}
	c := h.crew(4, lines...)
	c.await(ids...)
	all, supervisor := familyOf(t, c.cmd.Process.Pid), c.supervisor()
	for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // it cannot clean up in between
		if s == syscall.SIGKILL {
			supervisor.kill(t)
		}
		if err := c.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	expectGone(t, all, ids[0]+"-marker")
	if lost := h.gc().Lost; len(lost) != len(ids) {
		t.Errorf("gc found %v lost, want %d runs", lost, len(ids))
	}
	for _, id := range ids {
		h.show(id).expect(t, "lost", "supervisor_lost", 125)
		if left := leftovers(id, h.root); len(left) > 0 {
			t.Errorf("after gc: %v", left)
		}
	}
}

// TestCrewDoesNotGrow compares a supervisor early and late, with three runs each time. Anything that a run left would
// be there n times. The Go runtime has threads and memory of its own, so that only a soak is long enough to judge
// memory.
func TestCrewDoesNotGrow(t *testing.T) {
	h, n := newHarness(t), soakCount(2000)
	end, early, late := h.flag(), h.flag(), h.flag()
	held, passing := h.newIDs(5), append(h.newIDs(20), h.newIDs(n)...)
	lines := []manifest{standingBy(held[0], end, "", "")}
	for i, id := range passing {
		if i == 20 {
			lines = append(lines, standingBy(held[1], early, "", ""), standingBy(held[2], early, "", ""))
		}
		lines = append(lines, marked(id, "echo out >out"))
	}
	lines = append(lines, standingBy(held[3], late, "", ""), standingBy(held[4], late, "", ""))
	c := h.crew(3, lines...)
	c.ends(passing[:20]...)
	c.await(held[:3]...)
	supervisor := c.supervisor()
	before := usedBy(t, supervisor)
	early.raise()
	c.ends(passing...)
	c.await(held[3], held[4])
	if still := c.supervisor(); still.pid != supervisor.pid {
		t.Fatal("the batch has had another supervisor")
	}
	grown := eventually(func() (more []string) {
		for what, now := range usedBy(t, supervisor) {
			room := map[string]int{"threads": n / 4, "kB": 8 << 10}[what]
			if (what != "kB" || inSoak()) && now > before[what]+room {
				more = append(more, fmt.Sprintf("%s: %d, and %d after %d more runs", what, before[what], now, n))
			}
		}
		return more
	})
	for _, what := range grown {
		t.Error(what)
	}
	end.raise()
	late.raise()
	c.ends(held...)
	for id, r := range c.got {
		if r.State != "complete" {
			t.Errorf("%s ended as %s (%s)", id, r.State, r.Message)
		}
	}
}

// usedBy counts a supervisor's resources that runs must release.
func usedBy(t *testing.T, supervisor watched) map[string]int {
	t.Helper()
	proc := filepath.Join("/proc", supervisor.id())
	used := map[string]int{}
	for _, dir := range []string{"fd", "task"} {
		entries, err := os.ReadDir(filepath.Join(proc, dir))
		if err != nil {
			t.Fatal(err)
		}
		used[map[string]string{"fd": "descriptors", "task": "threads"}[dir]] = len(entries)
	}
	used["mounts"] = strings.Count(readFile(t, filepath.Join(proc, "mountinfo")), "\n")
	for line := range strings.Lines(readFile(t, filepath.Join(proc, "status"))) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			used["kB"], _ = strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return used
}
