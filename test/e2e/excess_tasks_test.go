package e2e

import (
	"syscall"
	"testing"
)

// crowds want more than 20 processes or threads.
var crowds = map[string]excess{
	"processes": {args: flags("processes", "60"), cgroup: crowded, rlimits: denied(1, "")},
	"threads":   {args: flags("threads", "60"), cgroup: crowded, rlimits: denied(1, "")},
	"few":       {args: flags("processes", "15"), cgroup: well(notCrowded), rlimits: well(notCrowded)},
}

var crowded = ended{"failed", "pids_limit", 1, "", func(t *testing.T, r result) {
	t.Helper()
	if r.Evidence.PidsDenied < 1 || r.Usage.PidsPeak != 20 {
		t.Errorf("evidence %+v, usage %+v", r.Evidence, r.Usage)
	}
}}

func notCrowded(t *testing.T, r result) {
	t.Helper()
	if r.Evidence.PidsDenied != 0 {
		t.Errorf("evidence %+v", r.Evidence)
	}
}

func TestCrowds(t *testing.T) {
	h := newHarness(t)
	beside := h.newSibling()
	for name, x := range crowds {
		x.program, x.flags = "limits/tasks.py", flags("--pids=20")
		t.Run(name, func(t *testing.T) { h.exceed(t, x, beside) })
	}
	t.Run("a bomb", func(t *testing.T) { h.bomb(t, beside) })
	beside.finish(t)
}

// bomb stops a fork bomb when it has all that it may have.
func (h *harness) bomb(t *testing.T, beside *sibling) {
	h = h.in(t)
	start := h.flag()
	l := h.launchProgram(start, flags("--pids=20", never), "limits/tasks.py", "bomb", "0")
	l.await("ready")
	start.raise()
	until(t, hangTimeout, "the bomb meets its limit", func() bool {
		if theHost.cgroup {
			return groupCounter(l.id, "pids.events", "max") > 100
		}
		return len(l.family()) > 15
	})
	all := l.family()
	beside.expectUntouched(t)
	l.signal(syscall.SIGTERM)
	r := l.wait()
	ended{"canceled", "stopped", 143, "SIGTERM", func(t *testing.T, r result) {
		if theHost.cgroup {
			crowded.check(t, r)
		}
	}}.expect(t, r)
	expectGone(t, all, l.id)
	h.expectNothingOf(t, r)
	beside.expectUntouched(t)
}

func TestCrowdsWorkOutside(t *testing.T) {
	for name, x := range crowds {
		t.Run(name, func(t *testing.T) {
			if err := outdo(t, "limits/tasks.py", x.args...); err != nil {
				t.Error(err)
			}
		})
	}
}
