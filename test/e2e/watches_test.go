package e2e

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// allWatches takes every epoll watch of its user. It takes two processes: each may open 4,096 files.
const allWatches = `import errno, os, select, time
def take():
    files = [os.eventfd(0) for _ in range(2000)]
    sets = []
    while True:
        sets.append(select.epoll())
        for file in files:
            sets[-1].register(file, select.EPOLLIN)
os.fork()
try:
    take()
except OSError as problem:
    os.write(1, errno.errorcode[problem.errno].encode() + b"\n")
    time.sleep(1000)
`

// account is a user of a test's own who has a single id, and a copy of the program that this user can read.
type account struct {
	*harness
	uid  uint32
	home string
}

func newAccount(t *testing.T) *account {
	t.Helper()
	a := &account{harness: newHarness(t), uid: 3_000_000 + rand.Uint32N(1_000_000), home: filepath.Join("/tmp", newPrefix())}
	t.Cleanup(func() { os.RemoveAll(a.home) })
	a.root = filepath.Join(a.home, "root")
	owner := strconv.Itoa(int(a.uid))
	if out, err := exec.Command("sh", "-ec", `mkdir -m 700 "$1"; cp "$2" "$2-supervisor" "$1"; chown -R "$3:$3" "$1"`, "sh", a.home, theHost.bin, owner).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return a
}

func (a *account) command(args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := a.harness.command(filepath.Join(a.home, "scidex-oci"), args...)
	cmd.Dir, cmd.Env = a.home, append(cmd.Env, "HOME="+a.home, "SCIDEX_OCI_ROOT="+a.root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.uid}}
	return cmd
}

// TestNoWatchesLeft: an analysis with its caller's id holds all epoll watches of the account. Commands say so and how
// to end it, instead of a trace of Go's, and that works.
func TestNoWatchesLeft(t *testing.T) {
	if !inSoak() || !theHost.root {
		t.Skip("it takes 1 GB of the kernel's memory, and a user of its own: scripts/soak as root has it, and headroom.TestNoWatches the check")
	}
	a := newAccount(t)
	single := flags("--ids=self", "--limits=best-effort", "--data=none", "--docs=none", "--")
	id := a.newID()
	l := a.follow(id, a.command(runWith(id, append(single, "python3", "-c", allWatches))...))
	l.await("ENOSPC")
	l.await("ENOSPC")
	list := []string{"-a", "-u", strconv.Itoa(int(a.uid)), "scidex-oci"}
	for _, args := range [][]string{{"ls"}, {"stop", id}, runWith(a.newID(), append(single, "true"))} {
		out := a.finish(a.command(args...))
		if out.code != 125 {
			t.Errorf("%q: exit code %d", args, out.code)
		}
		checkSentence(t, out.stderr, "no epoll watches", "pgrep "+strings.Join(list, " "), "kill -TERM PID")
	}
	launcher := strconv.Itoa(l.cmd.Process.Pid)
	if found, err := exec.Command("pgrep", list...).Output(); err != nil || !strings.HasPrefix(string(found), launcher+" ") {
		t.Errorf("pgrep found %q (%v), want %s", found, err, launcher)
	}
	l.signal(syscall.SIGTERM)
	l.wait().expect(t, "canceled", "stopped", 143)
	if out := a.finish(a.command("ls")); out.code != 0 {
		t.Errorf("afterwards: %+v", out)
	}
}
