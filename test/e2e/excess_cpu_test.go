package e2e

import "testing"

// TestSpin lets eight threads compute against a tenth of a CPU, which is less than a busy host leaves them: the kernel has
// the quota and makes them wait, which is no reason to fail. Against more CPUs than there are they never wait.
func TestSpin(t *testing.T) {
	h := newHarness(t)
	beside := h.newSibling()
	for cpus, throttled := range map[string]bool{"0.1": true, "64": false} {
		t.Run(cpus, func(t *testing.T) {
			h := h.in(t)
			end := h.flag()
			l := h.launchProgram(end, flags("--cpus="+cpus), "limits/spin.py")
			l.await("ready")
			all := l.family()
			had := heldBy(t, l.id, all[analysisAmong(t, all)])
			waited := func() int64 { return groupCounter(l.id, "cpu.stat", "nr_throttled") }
			// The kernel counts a wait when it begins, and its time when it is over: the first count may have no time.
			until(t, hangTimeout, "enough is computed", func() bool {
				return !theHost.cgroup || waited() > 3 || !throttled && groupCPU(l.id) > 5e8
			})
			if theHost.cgroup && (waited() > 0) != throttled {
				t.Errorf("in %d periods it waited", waited())
			}
			beside.expectUntouched(t)
			end.raise()
			r := l.wait()
			well(nil).expect(t, r)
			r.expectHeld(t, had)
			if theHost.cgroup && (r.Evidence.ThrottledMS > 0) != throttled {
				t.Errorf("evidence %+v", r.Evidence)
			}
			expectGone(t, all, l.id)
			h.expectNothingOf(t, r)
		})
	}
	beside.finish(t)
}
