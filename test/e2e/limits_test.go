package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// forks starts processes until it has as many as its argument says or may have no more, and tells.
const forks = `
import os, signal, sys
children = []
try:
    while len(children) < int(sys.argv[1]):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except BlockingIOError:
    pass
print(len(children))
for child in children:
    os.kill(child, signal.SIGKILL)
sys.exit(len(children) < int(sys.argv[1]))
`

// The attacks work where nothing holds them.
func TestAttacksWorkOutside(t *testing.T) {
	for _, attack := range [][]string{{"sh", "-c", hog}, {"python3", "-c", forks, "60"}} {
		if out, err := exec.Command(attack[0], attack[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", attack, err, out)
		}
	}
}

func TestMemoryLimit(t *testing.T) {
	for name, script := range map[string]string{
		"the analysis":   "exec " + hog,
		"a child":        hog + "; exit 9",
		"a child of two": hog + " & sleep 10000",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			if !theHost.cgroup {
				// An rlimit refuses the memory and nobody is killed: there is no evidence to be had.
				r := h.start(append(flags("--id", h.id("m"), "--memory=64MiB", "--timeout=20s"), shell(hog)...)...)
				r.expect(t, "failed", "exit", 1)
				if got := r.enforcement("memory"); got.By != "rlimit" || r.Evidence.OOMKills != 0 {
					t.Errorf("memory held by %+v, evidence %+v", got, r.Evidence)
				}
				return
			}
			r := h.start(append(flags("--id", h.id("m"), "--memory=64MiB"), shell("echo x >x.txt; "+script)...)...)
			r.expect(t, "failed", "out_of_memory", 137)
			if got := r.enforcement("memory"); got != (enforcement{"memory", "67108864", "67108864", "cgroup"}) {
				t.Errorf("memory is enforced as %+v", got)
			}
			if r.Evidence.OOMKills < 1 || r.Usage.MemoryPeakBytes > 64<<20 || r.Usage.MemoryPeakBytes < 16<<20 {
				t.Errorf("evidence %+v, usage %+v", r.Evidence, r.Usage)
			}
			if o := r.output("x.txt"); o.Size != 2 || !o.Partial {
				t.Errorf("what was written before the end: %+v of %+v", o, r.Outputs)
			}
		})
	}
}

// A limit that is large enough takes nothing away.
func TestMemoryBelowTheLimit(t *testing.T) {
	h := newHouse(t)
	h.start(append(flags("--id", h.id("m"), "--memory=1GiB"), shell(hog)...)...).expect(t, "complete", "exit", 0)
}

func TestPidsLimit(t *testing.T) {
	h := newHouse(t)
	r := h.start("--id", h.id("p"), "--pids=20", "--", "python3", "-c", forks, "60")
	if !theHost.cgroup {
		r.expect(t, "failed", "exit", 1) // the rlimit leaves no evidence
		if got := r.enforcement("pids"); got.By != "rlimit" {
			t.Errorf("pids are enforced as %+v", got)
		}
	} else {
		r.expect(t, "failed", "pids_limit", 1)
		if got := r.enforcement("pids"); got != (enforcement{"pids", "20", "20", "cgroup"}) {
			t.Errorf("pids are enforced as %+v", got)
		}
		if r.Evidence.PidsDenied < 1 || r.Usage.PidsPeak != 20 {
			t.Errorf("evidence %+v, usage %+v", r.Evidence, r.Usage)
		}
	}
	if r.Logs.Stdout.Bytes != 3 { // two digits: between 10 and 20 were made
		t.Errorf("%d bytes of output: %q", r.Logs.Stdout.Bytes, h.good("logs", h.id("p")).stdout)
	}
	// What the limit allows works.
	h.start("--id", h.id("few"), "--pids=20", "--", "python3", "-c", forks, "15").expect(t, "complete", "exit", 0)
}

// A bomb that goes on forever is held, and ends with its run.
func TestForkBomb(t *testing.T) {
	h := newHouse(t)
	r := h.start(append(flags("--id", h.id("b"), "--pids=20", "--timeout=2s", "--grace=100ms"),
		shell("b() { b | b & }; b; exec sleep 10000")...)...)
	r.expect(t, "failed", "timeout", 124)
	if theHost.cgroup && (r.Evidence.PidsDenied < 1 || r.Usage.PidsPeak != 20) {
		t.Errorf("evidence %+v, usage %+v", r.Evidence, r.Usage)
	}
	if left := processesOf(h.run); len(left) > 0 {
		t.Errorf("left when the command returned: %q", left)
	}
}

// Where the kernel cannot hold the limits, a run is refused unless best effort is asked for, and then it
// says limit by limit what is not held.
func TestLimitsAreNotSilentlyDropped(t *testing.T) {
	h := newHouse(t)
	h.setenv("SCIDEX_OCI_LIMITS", "") // counts as unset
	args := []string{"--id", h.id("x"), "--", "true"}
	if theHost.cgroup {
		r := h.start(args...)
		r.expect(t, "complete", "exit", 0)
		for _, limit := range []string{"memory", "cpus", "pids"} {
			if got := r.enforcement(limit); got.By != "cgroup" {
				t.Errorf("%+v", got)
			}
		}
		return
	}
	r := h.start(args...)
	r.expect(t, "error", "request", 125)
	if !strings.Contains(r.Message, "--limits best-effort") {
		t.Errorf("no way out in %q", r.Message)
	}
	r = h.start(append([]string{"--limits=best-effort"}, args...)...)
	r.expect(t, "complete", "exit", 0)
	if got := r.enforcement("cpus"); got.By != "none" || len(r.Warnings) < 2 {
		t.Errorf("cpus: %+v, warnings %q", got, r.Warnings)
	}
}
