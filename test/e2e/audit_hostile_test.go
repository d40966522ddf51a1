package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAuditKnowsItsOwn: a server of the analysis itself makes no event, by whatever address it is reached.
func TestAuditKnowsItsOwn(t *testing.T) {
	h := newHarness(t)
	r := h.analysis("audit_own.py", nil)
	if r.State != "complete" {
		t.Error(h.stderrOf(r))
	}
	r.expect(t, "complete", "exit", 0)
	if got := strings.Join(r.said(), "\n"); got != "" && !strings.HasPrefix(got, "socket AF_NETLINK low ") || len(r.Audit) > 1 {
		t.Errorf("events:\n%s", got)
	}
}

// TestAuditIsRaced changes an address after the supervisor has read it. The audit is no barrier: others hold, and
// nothing is reached.
func TestAuditIsRaced(t *testing.T) {
	h := newHarness(t)
	var greeted atomic.Int64
	args := greeters(t, &greeted)
	program := h.path("race")
	h.compile(testdata(t, "audit_race.c"), program)
	race := func(stdout string) (got struct{ Mine, Refused, Silent, Reached int64 }) {
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("%v: %q", err, stdout)
		}
		return got
	}
	control := race(h.finish(h.command(program, args...)).stdout)
	if control.Reached == 0 || control.Mine == 0 || greeted.Load() == 0 {
		t.Fatalf("outside: %+v: it proves nothing", control)
	}
	greeted.Store(0)
	r := h.start(append([]string{"--id", h.newID(), "--input", program + ":/inputs/race", "--", "/inputs/race"}, args...)...)
	r.expect(t, "complete", "exit", 0)
	got := race(h.stdoutOf(r))
	if got.Reached > 0 || greeted.Load() > 0 {
		t.Errorf("inside: %+v, and %d were greeted", got, greeted.Load())
	}
	if got.Mine == 0 || got.Refused == 0 || r.AuditTotal == 0 {
		t.Errorf("inside: %+v, events %q: the race did not take place", got, r.said())
	}
}

// greeters listens on every IPv4 address of the host and returns the addresses.
func greeters(t *testing.T, greeted *atomic.Int64) (args []string) {
	t.Helper()
	for _, address := range addresses(t) {
		if net.ParseIP(address).To4() == nil {
			continue
		}
		l, err := net.Listen("tcp4", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				greeted.Add(1)
				fmt.Fprint(c, "hello")
				c.Close()
			}
		}()
		args = append(args, address, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return args
}

// TestAuditIsFlooded: the supervisor is outside of the run's limits, and its thread that answers must use only its
// share of a processor for a run, whatever one notification costs: half a second at once, and then a tenth of the time
// that passes. The bound of the test is twice that, for a notification that is answered when the share is used up;
// without the share a flood would take a whole processor. The supervisor's other threads do not belong to the audit.
func TestAuditIsFlooded(t *testing.T) {
	const seconds = 5
	h := newHarness(t)
	l := h.launch(h.newID(), "--project", testdata(t, "."), "--work-size", "100TiB", "--work-files", "10000000",
		"--", "python3", "/analysis/audit_flood.py", strconv.Itoa(seconds), "8", "5000")
	l.await("ready")
	supervisor := l.supervisor()
	before, began := threadTimes(t, supervisor), time.Now()
	used, passed := time.Duration(0), time.Duration(0)
	for passed < (seconds-1)*time.Second {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-l.ended:
			t.Fatal("the flood ended early")
		}
		for thread, now := range threadTimes(t, supervisor) {
			used = max(used, now-before[thread])
		}
		passed = time.Since(began) // read last: the work was done in no more time
	}
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if most := 2*(500*time.Millisecond) + passed/10; used > most || used == 0 {
		t.Errorf("a thread of the supervisor worked %v in %v of a flood, want at most %v", used, passed, most)
	}
	if len(r.Audit) != 6 {
		t.Errorf("events %q", r.said())
	}
	t.Logf("the busiest thread of the supervisor worked %v in %v: %q", used, passed, r.said())
}

// threadTimes are what each thread of a process has used (proc_pid_schedstat: nanoseconds on a processor).
func threadTimes(t *testing.T, w watched) map[string]time.Duration {
	t.Helper()
	used := map[string]time.Duration{}
	for _, path := range matches("/proc/" + w.id() + "/task/*/schedstat") {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		first, _, _ := strings.Cut(string(raw), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		used[path] = time.Duration(n)
	}
	return used
}

// TestAuditForks: processes that start, cause a notification and end faster than the answer do no harm, and all end with the run.
func TestAuditForks(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--pids", "40", "--timeout", "3s", "--grace", "1ms", "--", "python3", "-c", `
import os, socket
while True:
    try:
        child = os.fork()
    except OSError:
        continue
    s = socket.socket()
    s.connect_ex(("192.0.2.1", 1))
    s.connect_ex(("127.0.0.1", 1))
    s.close()
`)
	r.expect(t, "failed", "timeout", 124)
	said := strings.Join(r.said(), "\n")
	for _, want := range []string{"connect tcp 192.0.2.1:1 medium ", "connect tcp 127.0.0.1:1 medium ", "limit timeout low 1"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if theHost.cgroup && !strings.Contains(said, "limit pids low ") {
		t.Errorf("nothing of the limit of processes in\n%s", said)
	}
}

// TestAuditOfTheKilled kills launcher or supervisor while notifications wait: nothing is left.
func TestAuditOfTheKilled(t *testing.T) {
	for name, kill := range map[string]func(*launch){
		"launcher":   func(l *launch) { l.signal(syscall.SIGKILL) },
		"supervisor": func(l *launch) { l.supervisor().kill(t) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			l := h.launch(id, "--project", testdata(t, "."), "--", "python3", "/analysis/audit_flood.py", "600", "8", "0")
			l.await("ready")
			all := l.family()
			time.Sleep(300 * time.Millisecond)
			kill(l)
			<-l.ended
			expectGone(t, all, id)
			if name == "launcher" {
				h.expectLost(id)
			}
		})
	}
}

// TestAuditIsLost makes the supervisor's audit fail while the analysis runs: poll(2) wants a limit of descriptors of 1
// at least. The analysis must end before it can install a listener of its own. A tmpfs needs no survey, which would end
// the run for the same limit.
func TestAuditIsLost(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	// A notification that is answered under the limit may have another answer than the flood expects; then the flood ends.
	l := h.launch(id, "--project", testdata(t, "."), "--work-storage", "tmpfs", "--", "sh", "-c", "python3 /analysis/audit_flood.py 600 2 0; sleep 600")
	l.await("ready")
	all := l.family()
	supervisor := l.supervisor()
	var limit unix.Rlimit
	if err := unix.Prlimit(supervisor.pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(supervisor.pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}, nil); err != nil {
		t.Fatal(err)
	}
	r := l.wait()
	r.expect(t, "error", "sandbox", 125)
	if !strings.Contains(r.Message, "the analysis was killed: the audit ended before the analysis: poll") || !strings.Contains(r.Message, "--audit off") {
		t.Errorf("message %q", r.Message)
	}
	expectGone(t, all, id)
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestAuditOfWalls: an event names a file of the host by its path, and an address that cannot be read is no event.
func TestAuditOfWalls(t *testing.T) {
	h := newHarness(t)
	h.write("data/x", "", 0o644)
	r := h.start("--id", h.newID(), "--", "python3", "-c", `
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
s = socket.socket(socket.AF_UNIX)
def connect(address, size):
    return errno.errorcode[ctypes.get_errno()] if libc.connect(s.fileno(), address, size) else "ok"
os.symlink("/usr/bin", "/tmp/bin")
os.symlink("../data/x", "/work/y")
for path in "/usr/bin/env", "/tmp/bin/env", "y", "/work/../data/x":
    assert s.connect_ex(path) in (errno.ECONNREFUSED, errno.EACCES, errno.EROFS), path
assert connect(ctypes.c_void_p(1), 16) == "EFAULT"
assert connect(None, 16) == "EFAULT"
assert connect(b"\1\0/x", 129) == "EINVAL"
assert connect(b"\1\0/x", -1) == "EINVAL"
assert connect(b"\1\0", 2) == "EINVAL"
assert libc.connect(9, b"\1\0/data/x", 10) and ctypes.get_errno() == errno.EBADF
assert libc.connect(0, b"\1\0/data/x", 10) and ctypes.get_errno() == errno.ENOTSOCK
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
assert libc.sendto(u.fileno(), b"x", 1, 0, b"\0\0\0\x35\xc0\0\2\1" + bytes(8), 16) == -1 and ctypes.get_errno() == errno.ENETUNREACH
`)
	if r.State != "complete" {
		t.Error(h.stderrOf(r))
	}
	r.expect(t, "complete", "exit", 0)
	want := []string{
		"connect udp 192.0.2.1:53 medium 1", "connect unix /data/x medium 1", "connect unix /tmp/bin/env medium 1",
		"connect unix /usr/bin/env medium 1", "connect unix /work/y medium 1",
	}
	if got := r.said(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAuditIsNeverSilentlyOff: if the kernel has no notifications, nothing runs, and the message says what to do.
func TestAuditIsNeverSilentlyOff(t *testing.T) {
	if !theHost.root && theHost.ranged {
		t.Log("such a filter keeps newuidmap from its privileges: root and users with one id show this")
		return
	}
	h := newHarness(t)
	program := h.path("listener")
	h.compile(testdata(t, "audit_listener.c"), program)
	below := func(flags ...string) result {
		args := append([]string{theHost.bin, "run", "--json", "--id", h.newID()}, flags...)
		out := h.finish(h.command(program, append(args, "--", "touch", "/work/ran")...))
		r, err := parseResult([]byte(out.stdout))
		if err != nil {
			t.Fatal(err, out.stderr)
		}
		return r
	}
	r := below()
	r.expect(t, "error", "sandbox", 125)
	if !strings.Contains(r.Message, "--audit off") || r.OutputsTotal > 0 || r.StartedAt != nil {
		t.Errorf("%q, %d outputs, started %v", r.Message, r.OutputsTotal, r.StartedAt)
	}
	r = below("--audit", "off")
	r.expect(t, "complete", "exit", 0)
	if r.OutputsTotal != 1 || r.Sandbox.Audit != "off" {
		t.Errorf("%d outputs, audit %q", r.OutputsTotal, r.Sandbox.Audit)
	}
}
