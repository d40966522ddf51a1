package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// manifest writes one whose analysis is a program of testdata that waits for the flag.
func (h *harness) manifest(begin flag, program, limits string, args ...string) string {
	h.t.Helper()
	name := h.newID() + ".yaml"
	h.write(name, fmt.Sprintf("project: %q\nscript: %q\ninputs: [%q]\nargs: [/inputs/flag, %s]\ndata: none\ndocs: none\n%s\n",
		testdata(h.t, "limits"), testdata(h.t, "limits/"+program), begin.input(), strings.Join(args, ", "), limits), 0o644)
	return name
}

// TestLimitsOfManifests runs analyses at once whose manifests have different limits: the kernel has the right ones for each.
func TestLimitsOfManifests(t *testing.T) {
	h := newHarness(t)
	begin := h.flag()
	type manifest struct {
		limits  string
		want    inForce
		timeout string
		*launch
	}
	manifests := []*manifest{
		{limits: "memory: 96MiB\npids: 31\ncpus: 0.3\ntimeout: 7m", want: inForce{"100663296", "31", "0.3"}, timeout: "7m0s"},
		{limits: "memory: 167772160\npids: 47\ncpus: 1.7\ntimeout: 900", want: inForce{"167772160", "47", "1.7"}, timeout: "15m0s"},
		{want: inForce{"2147483648", "100", "1"}, timeout: "30m0s"},
	}
	for _, m := range manifests {
		if !theHost.cgroup {
			m.want.cpus = ""
		}
		m.launch = h.launch(h.newID(), "-f", h.manifest(begin, "stay.py", m.limits, "deaf", "ends"))
	}
	for _, m := range manifests {
		m.await("ready")
		all := m.family()
		if got := heldBy(t, m.id, all[analysisAmong(t, all)]); got != m.want {
			t.Errorf("the kernel has %+v, want %+v", got, m.want)
		}
	}
	begin.raise()
	for _, m := range manifests {
		r := m.wait()
		well(nil).expect(t, r)
		r.expectHeld(t, m.want)
		if got := r.enforcement("timeout"); got != (enforcement{"timeout", m.timeout, m.timeout, "watchdog"}) {
			t.Errorf("%+v, want %s", got, m.timeout)
		}
	}
}

// TestManifestsExceeded: a limit of a manifest ends its run, and a flag overrides it.
func TestManifestsExceeded(t *testing.T) {
	h := newHarness(t)
	begin := h.flag()
	begin.raise()
	h.start("--id", h.newID(), "-f", h.manifest(begin, "stay.py", "timeout: 2s\ngrace: 100ms", "deaf")).expect(t, "failed", "timeout", 124)
	h.start("--id", h.newID(), "-f", h.manifest(begin, "stay.py", "timeout: 1h\ngrace: 1h", "deaf"), "--timeout=2s", "--grace=100ms").expect(t, "failed", "timeout", 124)
	want := denied(1, "")
	if theHost.cgroup {
		want = crowded
	}
	want.expect(t, h.start("--id", h.newID(), "-f", h.manifest(begin, "tasks.py", "pids: 20", "processes", "'60'")))
	want = denied(1, "")
	if theHost.cgroup {
		want = killed
	}
	want.expect(t, h.start("--id", h.newID(), "-f", h.manifest(begin, "memory.py", "memory: 64MiB", "anonymous", "'128'")))
}
