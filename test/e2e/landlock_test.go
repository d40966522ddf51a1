package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelLandlock is the version of Landlock that results must name: 7 is what init knows, and 1 is not used.
func kernelLandlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || version < 2 {
		return 0
	}
	return min(int(version), 7)
}

// scopesSignals is the version from which on signals are scoped.
const scopesSignals = 6

// moves prints what an analysis can do with files, and whether it may signal the process that started it, which only
// Landlock stops.
const moves = `
import decimal
import os, signal
def attempt(call, *args):
    try:
        return call(*args) and "" or "done"
    except OSError as problem:
        return os.strerror(problem.errno)
for top in "/work", "/tmp", "/dev/shm", os.environ["HOME"]:
    os.makedirs(top + "/a/dir")
    os.mkdir(top + "/b")
    open(top + "/a/file", "w").write("x" * 10)
    print(top == os.environ["HOME"] and "home" or top, attempt(os.rename, top + "/a/file", top + "/b/file"), attempt(os.link, top + "/b/file", top + "/a/link"),
          attempt(os.rename, top + "/a/dir", top + "/b/dir"), attempt(os.truncate, top + "/b/file", 1), attempt(os.symlink, "file", top + "/b/sym"),
          attempt(os.mkfifo, top + "/a/fifo"), attempt(os.unlink, top + "/a/fifo"), attempt(os.rmdir, top + "/b/dir"))
print("between", attempt(os.rename, "/work/b/file", "/tmp/b/moved"), attempt(os.link, "/tmp/b/file", "/work/b/other"))
for name in "/dev/stdin", "/dev/null", "/dev/zero", "/dev/tty", "/proc/self/fd/1", "/proc/self/fd/%d" % os.memfd_create("x"), "/proc/self/ns/pid":
    print(name.rstrip("0123456789"), attempt(lambda: os.close(os.open(name, os.O_RDONLY if "fd" not in name else os.O_WRONLY))))
print("terminal", attempt(lambda: os.close(os.open(os.ttyname(os.openpty()[1]), os.O_RDWR | os.O_NOCTTY))))
print("child", attempt(os.kill, os.posix_spawn("/bin/true", ["true"], {}), 0))
print("init", attempt(os.kill, 1, 0))
`

const moved = `/work done done done done done done done done
/tmp done done done done done done done done
/dev/shm done done done done done done done done
home done done done done done done done done
between Invalid cross-device link Invalid cross-device link
/dev/stdin done
/dev/null done
/dev/zero done
/dev/tty No such device or address
/proc/self/fd/ done
/proc/self/fd/ done
/proc/self/ns/pid done
terminal done
child done
init `

// TestLandlock: however a run starts, it is held by the version that its result names, and its own files still work.
func TestLandlock(t *testing.T) {
	h := newHarness(t)
	script := h.write("moves.py", moves, 0o644)
	want := moved + map[bool]string{true: "Operation not permitted\n", false: "done\n"}[kernelLandlock() >= scopesSignals]
	check := func(kind string, r result) {
		r.expect(t, "complete", "exit", 0)
		if kind != "" && r.kind() != kind || r.Sandbox.Landlock != kernelLandlock() {
			t.Errorf("%s: a start that was %q, under version %d of %d", kind, r.kind(), r.Sandbox.Landlock, kernelLandlock())
		}
		if said := h.stdoutOf(r); said != want {
			t.Errorf("%s: it says\n%s\nand should say\n%s", kind, said, want)
		}
	}
	alone := h.start("--id", h.newID(), "--script", script)
	check("", alone)
	if shown := h.show(alone.ID); shown.Sandbox.Landlock != kernelLandlock() {
		t.Errorf("show says version %d", shown.Sandbox.Landlock)
	}
	lines := func(preload string) string {
		line := func() manifest { return manifest{"id": h.newID(), "script": script, "preload": preload} }
		return h.lines(line(), line())
	}
	for preload, kind := range map[string]string{"none": "cold", "auto": "ready"} {
		all, _ := h.batch(0, lines(preload))
		for _, r := range all {
			check(kind, r)
		}
	}
}

// underRefusal is the first argument of this binary if it shall start a command in which a call fails with an errno.
const underRefusal = "e2e-under-refusal"

func startUnderRefusal(call, errno string, command []string) error {
	runtime.LockOSThread()
	if os.Geteuid() != 0 { // without CAP_SYS_ADMIN a filter needs it
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	number, err := strconv.ParseUint(call, 10, 32)
	if err != nil {
		return err
	}
	code, err := strconv.ParseUint(errno, 10, 16)
	if err != nil {
		return err
	}
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(number)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(code)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(filter)), 0, 0); err != nil {
		return fmt.Errorf("install the filter: %w", err)
	}
	return syscall.Exec(command[0], command, os.Environ())
}

// refusing has a call of a command and all its children fail with an errno.
func refusing(t *testing.T, cmd *exec.Cmd, call int, errno syscall.Errno) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args = append([]string{self, underRefusal, strconv.Itoa(call), strconv.Itoa(int(errno)), cmd.Path}, cmd.Args[1:]...)
	cmd.Path = self
	return cmd
}

// TestWithoutLandlock: without it in the kernel, a run goes on and reports that, and can do what Landlock stops; if it
// is there and fails, no run starts.
func TestWithoutLandlock(t *testing.T) {
	mayListen(t)
	h := newHarness(t)
	kill := []string{"--", "python3", "-c", "import os\nfor number in range(65): os.kill(1, number)"}
	for _, c := range []struct {
		call    int
		errno   syscall.Errno
		refused bool
	}{
		{unix.SYS_LANDLOCK_CREATE_RULESET, unix.ENOSYS, false},
		{unix.SYS_LANDLOCK_CREATE_RULESET, unix.EOPNOTSUPP, false},
		{unix.SYS_LANDLOCK_CREATE_RULESET, unix.EPERM, true},
		{unix.SYS_LANDLOCK_ADD_RULE, unix.EPERM, true},
		{unix.SYS_LANDLOCK_RESTRICT_SELF, unix.EPERM, true},
	} {
		if c.refused && kernelLandlock() == 0 {
			t.Logf("not covered here: the kernel has no Landlock that fails with %v", c.errno)
			continue
		}
		cmd := h.command(theHost.bin, append([]string{"run", "--json", "--id", h.newID()}, kill...)...)
		r := h.resultOf(refusing(t, cmd, c.call, c.errno))
		if !c.refused {
			r.expect(t, "complete", "exit", 0)
			if r.Sandbox.Landlock != 0 {
				t.Errorf("%v: it names version %d", c.errno, r.Sandbox.Landlock)
			}
			continue
		}
		r.expect(t, "error", "sandbox", 125)
		if !strings.Contains(r.Message, "has Landlock and does not take the rules") || !strings.Contains(r.Message, "operation not permitted") || r.StartedAt != nil {
			t.Errorf("call %d: %q, started at %v", c.call, r.Message, r.StartedAt)
		}
	}
	if kernelLandlock() >= scopesSignals {
		h.start(append([]string{"--id", h.newID()}, kill...)...).expect(t, "failed", "exit", 1)
	}
}
