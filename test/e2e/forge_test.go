package e2e

import (
	"strings"
	"testing"
)

// TestCannotForgeItsEnd lets an analysis attack the process that reports its end, and everything that
// it could overwrite.
func TestCannotForgeItsEnd(t *testing.T) {
	h := newHarness(t)
	r := h.analysis("forge.py", nil)
	r.expect(t, "failed", "exit", 7)
	got := decodeVerdicts(t, []byte(h.stdoutOf(r)))
	if got["friend"] != "alive" {
		t.Error("a signal to PID 1 reached another process of the run")
	}
	delete(got, "friend")
	if !theHost.ranged { // uid 0 inside: it may list PID 1's descriptors, not use them
		delete(got, "list fd")
	}
	got.each(t, func(name, got string) string { return unless(got != "ok", "it succeeded") })
	for _, name := range []string{"read environ", "read mem", "follow exe", "write fd/3"} {
		if got[name] != "EACCES" && got[name] != "EPERM" {
			t.Errorf("%s: %q, want it denied", name, got[name])
		}
	}
	refused := 0
	for name, said := range got {
		if strings.HasPrefix(name, "signal ") && !strings.Contains(said, "not permitted") {
			t.Errorf("%s: %s", name, said)
		}
		if strings.HasPrefix(name, "signal ") {
			refused++
		}
	}
	if scoped := kernelLandlock() >= scopesSignals; scoped != (refused > 0) { // init ignores them: TestWithoutLandlock
		t.Errorf("%d signals were refused by Landlock of version %d", refused, kernelLandlock())
	}
}

// TestControlOfForging shows that the attacks on PID 1 work on a process that does not defend itself.
func TestControlOfForging(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--", "python3", "-c", `
import os, subprocess
child = subprocess.Popen(["sleep", "1000"], pass_fds=[os.dup2(1, 3)])
open(f"/proc/{child.pid}/environ", "rb").read(1)
open(f"/proc/{child.pid}/mem", "rb").close()
os.readlink(f"/proc/{child.pid}/exe")
with open(f"/proc/{child.pid}/fd/3", "w") as f:
    f.write("written to another's descriptor")
os.kill(child.pid, 9)
print(child.wait())
`)
	r.expect(t, "complete", "exit", 0)
	if got, want := h.stdoutOf(r), "written to another's descriptor-9\n"; got != want {
		t.Errorf("it wrote %q, want %q", got, want)
	}
}

// TestStandardStreams opens them again, as shells do.
func TestStandardStreams(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--", "sh", "-c", `
set -e
echo one; echo two >/dev/stdout; echo three >>/proc/self/fd/1
echo four >&2; echo five >/dev/stderr; echo six >>/dev/fd/2
python3 -c 'open("/dev/stderr", "w").write("seven\n"); print(repr(open("/dev/stdin").read()))'
(echo eight >/dev/stdout) & wait
`)
	r.expect(t, "complete", "exit", 0)
	if got, want := h.stdoutOf(r), "one\ntwo\nthree\n''\neight\n"; got != want {
		t.Errorf("standard output %q, want %q", got, want)
	}
	if got, want := h.stderrOf(r), "four\nfive\nsix\nseven\n"; got != want {
		t.Errorf("standard error %q, want %q", got, want)
	}
}
