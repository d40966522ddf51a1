package e2e

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// both runs a compiled attack outside and inside.
func (h *house) both(source string) (control, got verdicts) {
	h.t.Helper()
	program := filepath.Join(h.dir, source+".bin")
	h.compile(testdata(h.t, source), program)
	cmd := exec.Command(program)
	cmd.Dir = h.t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatal(err)
	}
	r := h.start("--id", h.fresh(), "--input", program+":/inputs/attack", "--", "/inputs/attack")
	r.expect(h.t, "complete", "exit", 0)
	return decodeVerdicts(h.t, out), decodeVerdicts(h.t, []byte(h.stdoutOf(r)))
}

// refusedWith lists the calls that do not fail with EPERM. The kernel itself refuses an id that is not
// mapped with EINVAL, and a better priority with EACCES.
var refusedWith = map[string][]string{
	"clone3":       {"ENOSYS"},
	"openat2":      {"ENOSYS"},
	"fallocate":    {"EOPNOTSUPP"},
	"fchmodat2":    {"EPERM", "ENOSYS"},
	"netlink":      {"EAFNOSUPPORT"},
	"netlink_high": {"EAFNOSUPPORT"},
	"netlink_pair": {"EAFNOSUPPORT"},
	"vsock":        {"EAFNOSUPPORT"},
	"alg":          {"EAFNOSUPPORT"},
	"packet":       {"EAFNOSUPPORT"},
	"bluetooth":    {"EAFNOSUPPORT"},
	"setuid":       {"EINVAL"},
	"chown":        {"EINVAL"},
	"nice":         {"EACCES"},
}

// rootOnly are calls that the kernel refuses to an ordinary user anyway: only as root the control shows
// that they are refused inside for another reason.
var rootOnly = []string{"raw", "device", "hostname", "clock", "reboot", "setuid", "setgroups", "chown", "nice"}

// TestSystemCalls makes every call that is taken from an analysis, outside and inside.
func TestSystemCalls(t *testing.T) {
	h := newHouse(t)
	control, got := h.both("syscalls.c")
	if len(control) != len(got) {
		t.Errorf("%d calls outside, %d inside", len(control), len(got))
	}
	got.each(t, func(name, got string) string {
		want, ok := refusedWith[name]
		if !ok {
			want = []string{"EPERM"}
		}
		return unless(slices.Contains(want, got), "want it refused")
	})
	control.each(t, func(name, outside string) string {
		lacks := outside == "ENOSYS" || outside == "EAFNOSUPPORT" // the kernel does not have it
		protected := name == "ptrace_init"                        // the host's, from a caller who is no root of it
		kernel := !theHost.root && slices.Contains(rootOnly, name)
		return unless(got[name] != outside || lacks || protected || kernel, "outside as inside: it proves nothing")
	})
}

// TestForeignArchitecture: a filter knows one architecture's numbers only, so calls by another's must die.
func TestForeignArchitecture(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Logf("%s: the program knows the ways around on amd64 only", runtime.GOARCH)
		return
	}
	h := newHouse(t)
	control, got := h.both("foreign.c")
	if control["int 0x80"] != "ok" && control["int 0x80"] != "ENOSYS" && control["int 0x80"] != "SEGV" {
		t.Errorf("outside: %v", control)
	}
	got.each(t, func(_, got string) string {
		return unless(got == "SYS" || got == "ENOSYS", "want it killed by SIGSYS or unknown")
	})
	t.Logf("outside %v, inside %v", control, got)
}
