package e2e

import (
	"reflect"
	"slices"
	"testing"
)

// holds has 100 MB for some seconds, in a child.
const holds = `
import os, time
child = os.fork()
if child == 0:
    kept = bytearray(os.urandom(1000)) * 100000
    time.sleep(4)
    os._exit(0)
os.waitpid(child, 0)
`

// TestSeries: the usage of a run over time is kept with it and shown again.
func TestSeries(t *testing.T) {
	h := newHarness(t)
	h.write("holds.py", holds, 0o644)
	r := h.start("--id", h.id("s"), "--script", "holds.py")
	r.expect(t, "complete", "exit", 0)
	s := r.Series
	if want := map[bool]string{true: "cgroup", false: "processes"}[theHost.cgroup]; s.Source != want {
		t.Errorf("the series is from %q, want %q", s.Source, want)
	}
	// The start, at least one of the seconds between, the end.
	if len(s.TMS) < 3 || slices.Max(s.MemoryBytes) < 100_000_000 || slices.Max(s.Pids) < 2 {
		t.Errorf("series %+v", s)
	}
	if s.CPUMS[len(s.CPUMS)-1] != r.Usage.CPUMS {
		t.Errorf("the series ends with %d ms of CPU, used were %d", s.CPUMS[len(s.CPUMS)-1], r.Usage.CPUMS)
	}
	if again := h.show(h.id("s")); !reflect.DeepEqual(again.Series, s) || !reflect.DeepEqual(again.Usage, r.Usage) {
		t.Errorf("shown: %+v, %+v; it was %+v, %+v", again.Usage, again.Series, r.Usage, s)
	}
}

// TestSeriesOfShortRun: a run that ends before the first second has one all the same (see checkSeries).
func TestSeriesOfShortRun(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.id("s"), "--", "true")
	r.expect(t, "complete", "exit", 0)
	if r.Usage.MemoryPeakBytes == 0 {
		t.Errorf("usage %+v, series %+v", r.Usage, r.Series)
	}
	if r = h.start("--id", h.id("none"), "--", "/no/such/command"); r.Series != nil || r.Usage.Sampled != nil {
		t.Errorf("a run that never began: %+v, %+v", r.Usage, r.Series)
	}
}

// spins uses a fifth of a second of CPU and ends.
const spins = `
import time
while time.process_time() < 0.2: pass
`

// TestThrottled: throttling by the CPU limit is evidence, also if the run did not end by itself.
func TestThrottled(t *testing.T) {
	h := newHarness(t)
	h.write("spins.py", spins, 0o644)
	for name, end := range map[string]struct {
		args          []string
		state, reason string
		code          int
	}{
		"ends":  {flags("--script", "spins.py"), "complete", "exit", 0},
		"timed": {append(flags("--timeout=1s", "--grace=100ms"), shell("while :; do :; done")...), "failed", "timeout", 124},
	} {
		r := h.start(append(flags("--id", h.id(name), "--cpus=0.05"), end.args...)...)
		r.expect(t, end.state, end.reason, end.code)
		e := r.Evidence
		if theHost.cgroup != (e.ThrottledPeriods > 0) || e.ThrottledPeriods > e.Periods {
			t.Errorf("%s: evidence %+v", name, e)
		}
	}
}

// TestEvidenceOfTheLost: if the supervisor is killed during a run, the counters are still read.
func TestEvidenceOfTheLost(t *testing.T) {
	h := newHarness(t)
	l := h.launch(h.id("l"), shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo ready >&2; sleep 10000")...)
	l.await("ready")
	l.supervisor().kill(t)
	r := l.wait()
	r.expect(t, "lost", "supervisor_lost", 125)
	if r.Series == nil || theHost.cgroup && (r.Usage.CPUMS == 0 || r.Usage.MemoryPeakBytes == 0 || r.Usage.PidsPeak == 0) {
		t.Errorf("usage %+v, series %+v", r.Usage, r.Series)
	}
}

// TestUsageOfTheKilled: the usage of killed processes counts, also without a control group, for which nothing waits for them.
func TestUsageOfTheKilled(t *testing.T) {
	h := newHarness(t)
	const spin = "import os, time\nwhile time.process_time() < 0.3: pass\nos.system('head -c 4M /dev/zero >x')\ntime.sleep(10000)"
	for name, c := range map[string]struct {
		args          []string
		state, reason string
		code          int
	}{
		"killed": {append(flags("--work-size=1MiB"), python(spin)...), "failed", "work_full", 1},
		"left":   {shell(`python3 -c "` + spin + `" & while ! [ -e x ]; do sleep 0.1; done`), "complete", "exit", 0},
	} {
		r := h.start(append(flags("--id", h.id(name)), c.args...)...)
		r.expect(t, c.state, c.reason, c.code)
		if r.Usage.CPUMS < 250 { // /proc counts in 10 ms
			t.Errorf("%s: %d ms of CPU, the analysis used 300", name, r.Usage.CPUMS)
		}
	}
}
