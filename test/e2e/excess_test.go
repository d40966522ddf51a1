package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// excess is one way to go past a limit. The programs of testdata/limits are the same for every way to hold limits
// (docs/limits.md); the expected end depends on what holds the limit.
type excess struct {
	program string
	args    []string
	flags   []string
	cgroup  ended // if a control group enforces it
	rlimits ended // with best effort
}

// ended is how a run is to end.
type ended struct {
	state, reason string
	code          int
	signal        string
	check         func(*testing.T, result)
}

func well(check func(*testing.T, result)) ended { return ended{"complete", "exit", 0, "", check} }

// here is what is expected on this host.
func (x excess) here() ended {
	if theHost.cgroup {
		return x.cgroup
	}
	return x.rlimits
}

// launchProgram starts a program of testdata, which waits for the flag.
func (h *harness) launchProgram(begin flag, flags []string, program string, args ...string) *launch {
	h.t.Helper()
	return h.launch(h.newID(), programWith(begin, flags, program, args)...)
}

func programWith(begin flag, flags []string, program string, args []string) []string {
	path := testdata(begin.t, program)
	return slices.Concat(flags, []string{"--data=none", "--docs=none", "--input", begin.input()},
		[]string{"--project", filepath.Dir(path), "--script", path, "/inputs/flag"}, args)
}

// analysisAmong is the place of the analysis' own process, which the init has started, in a run's family. What the
// analysis has started comes after it.
func analysisAmong(t *testing.T, all []watched) int {
	t.Helper()
	i := slices.IndexFunc(all, func(w watched) bool {
		return strings.Contains(w.command, "\x00/analysis/") && strings.HasPrefix(w.command, "python3")
	})
	if i < 0 {
		t.Fatalf("no analysis among %+v", all)
	}
	return i
}

// exceed lets a run exceed its limit next to a sibling: the kernel held the limits that the result names, the run ends
// as expected, with its files, and nothing is left of it.
func (h *harness) exceed(t *testing.T, x excess, beside *sibling) {
	t.Helper()
	h = h.in(t)
	start := h.flag()
	l := h.launchProgram(start, x.flags, x.program, x.args...)
	l.await("ready")
	all := l.family()
	had := heldBy(t, l.id, all[analysisAmong(t, all)])
	start.raise()
	r := l.wait()
	x.here().expect(t, r)
	r.expectHeld(t, had)
	expectGone(t, all, l.id)
	h.expectNothingOf(t, r)
	beside.expectUntouched(t)
}

func (e ended) expect(t *testing.T, r result) {
	t.Helper()
	r.expect(t, e.state, e.reason, e.code)
	if got := text(r.Signal); got != e.signal {
		t.Errorf("signal %q, want %q (%s)", got, e.signal, r.Message)
	}
	// Files that were open when it was killed are as they were then.
	cut := slices.Contains([]string{"out_of_memory", "timeout", "stopped"}, e.reason)
	if o := r.output("before"); o.Size != int64(len("written before\n")) || o.Partial != cut {
		t.Errorf("what was written before: %+v, want partial: %v", o, cut)
	}
	if e.check != nil {
		e.check(t, r)
	}
}

// expectNothingOf looks for everything a run may have left when its command has returned, and only of that run.
func (h *harness) expectNothingOf(t *testing.T, r result) {
	t.Helper()
	left := eventually(func() []string { return append(processesOf(r.ID), processesAs(r)...) })
	left = slices.Concat(left, matches("/tmp/scidex-analysis-"+r.ID+"*"), groupsOf(r.ID), mountsOf(r.ID),
		matches(filepath.Join(h.root, "runs", r.ID+"*")), matches(filepath.Join(h.root, "blobs", "ingest", r.ID+"*")))
	if len(left) > 0 {
		t.Errorf("left of %s: %q", r.ID, left)
	}
}

// processesAs finds the processes that have the id of a run, if the id was the run's own.
func processesAs(r result) []string {
	if r.Sandbox.IDs != "range" {
		return nil
	}
	return processes(func(p process) bool {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "status"))
		return err == nil && strings.Contains(string(status), "\nUid:\t"+strconv.Itoa(r.Sandbox.UIDOnHost)+"\t")
	})
}

// outdo runs a program of testdata as the caller, without limits: the control.
func outdo(t *testing.T, program string, args ...string) error {
	t.Helper()
	dir := t.TempDir()
	start := filepath.Join(dir, "flag")
	if err := os.WriteFile(start, []byte("raised"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", append([]string{"-B", testdata(t, program), start}, args...)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "HOME=" + dir}
	out, err := cmd.CombinedOutput()
	t.Logf("outside: %s", out)
	return err
}
