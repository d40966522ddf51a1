package e2e

import (
	"strings"
	"testing"
)

// A limit that is large enough has no effect.
func TestMemoryBelowTheLimit(t *testing.T) {
	h := newHarness(t)
	h.start(append(flags("--id", h.id("m"), "--memory=1GiB"), shell(hog)...)...).expect(t, "complete", "exit", 0)
}

// An endless fork bomb is held, and ends with its run.
func TestForkBomb(t *testing.T) {
	h := newHarness(t)
	r := h.start(append(flags("--id", h.id("b"), "--pids=20", "--timeout=2s", "--grace=100ms"),
		shell("b() { b | b & }; (b); exec sleep 10000")...)...)
	r.expect(t, "failed", "timeout", 124)
	if theHost.cgroup && (r.Evidence.PidsDenied < 1 || r.Usage.PidsPeak != 20) {
		t.Errorf("evidence %+v, usage %+v", r.Evidence, r.Usage)
	}
	if left := processesOf(h.run); len(left) > 0 {
		t.Errorf("left when the command returned: %q", left)
	}
}

// If limits are not enforced, a run warns in a word if its config or environment allows that for all runs, and in a
// sentence if its own command line does. JSON has the sentence.
func TestBestEffortWarningIsShort(t *testing.T) {
	if theHost.cgroup && !theHost.root {
		t.Log("not covered here: only root can mount; the tests as root do, and those of cmd/scidex-oci/results")
		return
	}
	h := newHarness(t)
	h.setenv("SCIDEX_OCI_LIMITS", "")
	do := func(args ...string) outcome {
		script := `for group in /sys/fs/cgroup /sys/fs/cgroup/memory; do mount -o remount,bind,ro "$group" || [ ! -e "$group" ]; done; exec "$@"`
		prefix := flags("unshare", "--mount", "sh", "-c", script, "sh")
		if !theHost.cgroup {
			prefix = flags("env")
		}
		words := append(append(prefix, theHost.bin, "run", "--id", h.newID()), args...)
		return h.finish(h.command(words[0], append(words[1:], "--", "true")...))
	}
	h.mustRun("config", "set", "limits", "best-effort")
	const word, sentence = "\nlimits      best-effort\n", "CPUs are not limited"
	if out := do(); out.code != 0 || !strings.Contains(out.stderr, word) || strings.Contains(out.stderr, sentence) {
		t.Errorf("by the config: %d, %s", out.code, out.stderr)
	}
	if out := do("--limits", "best-effort"); out.code != 0 || strings.Contains(out.stderr, word) || !strings.Contains(out.stderr, sentence) {
		t.Errorf("by the command line: %d, %s", out.code, out.stderr)
	}
	if out := do("--json"); out.code != 0 || !strings.Contains(out.stdout, sentence) {
		t.Errorf("JSON: %d, %s", out.code, out.stdout)
	}
}

// If the kernel cannot enforce the limits, a run is refused unless it requests best effort; then it says for each limit
// what is not enforced.
func TestLimitsAreNotSilentlyDropped(t *testing.T) {
	h := newHarness(t)
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
	if !strings.Contains(r.Message, "`--limits best-effort`") || !strings.Contains(r.Message, "`scidex-oci config set limits best-effort`") {
		t.Errorf("no way out in %q", r.Message)
	}
	r = h.start(append([]string{"--limits=best-effort"}, args...)...)
	r.expect(t, "complete", "exit", 0)
	if got := r.enforcement("cpus"); got.By != "none" || len(r.Warnings) == 0 {
		t.Errorf("cpus: %+v, warnings %q", got, r.Warnings)
	}
	h.mustRun("config", "set", "limits", "best-effort")
	h.start("--id", h.id("y"), "--", "true").expect(t, "complete", "exit", 0)
}
