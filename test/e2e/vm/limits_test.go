package vm

import (
	"testing"
)

const spin = `import multiprocessing, time
def turn(end):
    while time.monotonic() < end: pass
for p in [multiprocessing.Process(target=turn, args=(time.monotonic() + 2,)) for _ in range(8)]: p.start()
`

// TestQuota lets eight processes spin against half a CPU.
func TestQuota(t *testing.T) {
	for _, name := range []string{"ada", "root"} {
		p := as(t, name)
		free := p.run("--cpus=4", "--", "python3", "-c", spin)
		free.expect(t, "complete", "exit")
		r := p.run("--cpus=0.2", "--", "python3", "-c", spin)
		r.expect(t, "complete", "exit") // starvation is no reason to fail
		if r.Evidence.ThrottledMS == 0 || r.Evidence.Throttled == 0 || r.Evidence.Throttled > r.Evidence.Periods || r.Usage.CPUMS*10 > r.Usage.WallMS*3 {
			t.Errorf("%s: %+v, %+v", name, r.Usage, r.Evidence)
		}
		if free.Usage.CPUMS*10 < free.Usage.WallMS*3 {
			t.Errorf("%s: without a narrow limit the attack took only %+v", name, free.Usage)
		}
	}
}

// TestNeighbours starts and ends other users' managers and units of the same systemd: the limits of runs stay.
func TestNeighbours(t *testing.T) {
	root, ada := as(t, "root"), as(t, "ada")
	runs := []*waiting{ada.start(nil, limits...), root.start(nil, limits...)}
	groups := []string{runs[0].group(), runs[1].group()}
	for what, disturb := range map[string]func(){
		"reload":                    func() { root.do("systemctl", "daemon-reload") },
		"a user's reload":           func() { ada.do(ada.manager("systemctl", "daemon-reload")...) },
		"a service":                 func() { neighbour(root, "system.slice") },
		"a user's service":          func() { neighbour(ada, "app.slice") },
		"a quota for the user":      func() { squeeze(root, "user-1000.slice", "CPUQuota=90%", "CPUQuota=") },
		"a limit for the system":    func() { squeeze(root, "system.slice", "MemoryMax=900M", "MemoryMax=infinity") },
		"a user's manager executed": func() { ada.do(ada.manager("systemctl", "daemon-reexec")...) },
		"the manager executed":      func() { root.do("systemctl", "daemon-reexec") },
	} {
		disturb()
		for i, w := range runs {
			if groups[i] != w.group() {
				t.Fatalf("%s, %s: the group has become %s", what, w.name, w.group())
			}
			expectLimits(t, groups[i], files)
		}
		if t.Failed() {
			t.Fatalf("after %s", what)
		}
	}
	for _, w := range runs {
		r := w.end()
		r.expect(t, "complete", "exit")
		if len(r.Warnings) > 0 {
			t.Errorf("%s: %q", w.name, r.Warnings)
		}
	}
	expectNoScope(t)
}

// squeeze limits a slice and removes the limit.
func squeeze(p person, slice, limit, none string) {
	p.t.Helper()
	p.do("systemctl", "set-property", "--runtime", slice, limit)
	p.do("systemctl", "set-property", "--runtime", slice, none)
}

// neighbour is a unit next to the run's, with a quota of its own, that starts and ends.
func neighbour(p person, slice string) {
	p.t.Helper()
	p.do(p.manager("systemd-run", "--quiet", "--unit=neighbour", "--slice="+slice,
		"--property=CPUQuota=20%", "--property=MemoryMax=100M", "--property=TasksMax=10", "sleep", "10000")...)
	p.do(p.manager("systemctl", "stop", "neighbour")...)
}
