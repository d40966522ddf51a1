package sandbox

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
)

//go:embed testdata/hostile/calls.py
var calls string

// results reads what calls.py yields, as it was said: a name and a number in each line.
func results(said string) map[string]int {
	read := map[string]int{}
	for line := range strings.Lines(said) {
		name, number, found := strings.Cut(strings.TrimSpace(line), ": ")
		var n int
		if _, err := fmt.Sscan(number, &n); found && err == nil {
			read[name] = n
		}
	}
	return read
}

// TestCallsOfForkedWithCapabilities makes calls between the container's join and the drop of capabilities. Outside of the filter they
// do something.
func TestCallsOfForkedWithCapabilities(t *testing.T) {
	alone := exec.CommandContext(t.Context(), "unshare", "-Urmniu", "python3", "-c", serve+calls+`
for name, result in attempts():
    say("%s: %d" % (name, result))
`)
	said, err := alone.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	free := results(string(said))
	s := launched(t)
	want := honestly(t, s)
	h := hostileTemplate(t, s, calls+`
def joined(order):
    for name, result in attempts():
        say("%s: %d" % (name, result))
`)
	if note := attacked(t, s, "attacked", want); !strings.HasPrefix(note, protocol.NoteReady) {
		t.Errorf("the run is started with %q", note)
	}
	h.end()
	held := results(h.said())
	if len(free) < 19 || len(held) != len(free) {
		t.Fatalf("%d results outside, %d inside: %s\n%s", len(free), len(held), said, h.said())
	}
	for name, result := range held {
		refused := unix.EPERM
		if name == "a listener" { // a process has one at most
			refused = unix.EBUSY
		}
		if unix.Errno(-result) != refused {
			t.Errorf("%s: %d", name, result)
		}
		if unix.Errno(-free[name]) == refused {
			t.Errorf("%s fails without the filter, too", name)
		}
	}
}

// TestSetnsOfTemplate tries to enter namespaces in all ways but the one that is ordered.
func TestSetnsOfTemplate(t *testing.T) {
	s := launched(t)
	want := honestly(t, s)
	beside := python(t, s, "beside", "import time\nprint(flush=True)\ntime.sleep(1000)")
	beside.create()
	beside.good(beside.session.Start())
	h := hostileTemplate(t, s, `
def enter(when, spares):
    """Tries all processes, but for the one that was made last not what is ordered."""
    fds = [call("pidfd_open", pid, 0) for pid in range(1, 400) if pid != os.getpid()]
    fds = [fd for fd in fds if fd >= 0]
    entered = []
    for fd in fds:
        for flags in IN_ORDER, 0x20000, 0x8000000, 0x40000000, 0x10000000, 0x10020000, IN_ORDER & ~0x20000000:
            if not (spares and fd == fds[-1] and flags == IN_ORDER):
                entered.append(call("setns", fd, flags))
    for fd in fds:
        os.close(fd)
    said.append("%s %d %s" % (when, len(fds), set(entered)))
said = []
def ordered(order):
    enter("the template", True)
    say(*said)
    said.clear()
def middle(order):
    enter("in an order", True)
    say(*said)
def joined(order): say("again", call("setns", order.pidfd, IN_ORDER))
enter("before", False)
`)
	if note := attacked(t, s, "attacked", want); !strings.HasPrefix(note, protocol.NoteReady) {
		t.Errorf("the run is started with %q", note)
	}
	h.end()
	const refused = "before 3 {-1} the template 4 {-1}\nin an order 5 {-1}\nagain -1\n"
	if said := h.said(); said != refused {
		t.Errorf("it enters %q, want %q", said, refused)
	}
	beside.end()
}

// TestSignalsOfTemplate: a template that kills all reaches the runs of its supervisor, perhaps with that itself, and no others.
func TestSignalsOfTemplate(t *testing.T) {
	bystander := newRun(t, launched(t), "bystander", "trap 'exit 7' TERM; echo up; sleep 1000 & wait", time.Hour)
	bystander.begin()
	s := launched(t)
	h := hostileTemplate(t, s, `
def ordered(order):
    for sig in range(1, 65):
        if sig not in (signal.SIGKILL, signal.SIGSTOP):
            try: os.kill(1, sig)
            except OSError: pass
    os.kill(1, signal.SIGKILL)
    os.kill(1, signal.SIGSTOP)
    python.kill(-1, signal.SIGKILL)
`)
	r := python(t, s, "killed", honest)
	r.job.Forked = true
	r.create()
	note, _, err := r.session.Prepare()
	if err == nil {
		_ = r.session.Start()
	}
	exit, ended := r.session.Wait(Watch{Started: func(time.Time) {}, Usage: func(protocol.Usage) {}})
	if ended == nil && exit.Ended {
		t.Errorf("the run is started with %q: %+v", note, exit)
	}
	if names := left(t, s); len(names) > 0 && !s.Alive() {
		t.Errorf("%v are left of a dead supervisor", names)
	}
	_, _ = r.session.Close(), h.session.Close()
	bystander.good(bystander.session.Stop())
	if exit := bystander.wait(); exit.Status.ExitStatus() != 7 {
		t.Errorf("the run of another supervisor has ended with %d, want 7", exit.Status.ExitStatus())
	}
}

// TestStoppedByTemplate stops the process when it is proved: the run ends in time nevertheless.
func TestStoppedByTemplate(t *testing.T) {
	s := launched(t)
	h := hostileTemplate(t, s, `
def answer(order, child):
    reply(child)
    control.recv(1, socket.MSG_PEEK) # until the next order
    os.kill(child, signal.SIGSTOP)
`)
	first := python(t, s, "stopped", "import time\nprint('up', flush=True)\ntime.sleep(1000)\n")
	first.job.Timeout = time.Second
	first.job.Forked = true
	first.create()
	note, pidfd, err := first.session.Prepare()
	first.good(err)
	if pidfd == nil {
		t.Fatalf("the run is not forked: %q", note)
	}
	pidfd.Close()
	second := make(chan string)
	go func() { second <- attacked(t, s, "second", honestly(t, s)) }()
	first.good(first.session.Start())
	go io.Copy(io.Discard, first.created.Stdout) //nolint:errcheck // for a reader
	go io.Copy(io.Discard, first.created.Stderr) //nolint:errcheck // for a reader
	if exit := first.wait(); !exit.TimedOut {
		t.Errorf("a run that is stopped ends with %+v", exit)
	}
	<-second
	first.end()
	h.end()
}

// TestForkedThatForksBeforeItsStart: what it starts before it is in its control group would be in none of the run's.
func TestForkedThatForksBeforeItsStart(t *testing.T) {
	s := launched(t)
	h := hostileTemplate(t, s, `
read = os.read
def stopped(fd, size):
    if fd == GATE and os.getpid() < 20:
        while not os.path.exists("/work/proved"): time.sleep(0.01)
        if python.fork() == 0:
            os.closerange(0, 100)
            time.sleep(1000)
    return read(fd, size)
os.read = stopped
`)
	r := python(t, s, "forks", honest)
	r.job.Forked = true
	r.create()
	note, pidfd, err := r.session.Prepare()
	r.good(err)
	if pidfd == nil {
		t.Fatalf("the run is not forked: %q", note)
	}
	pidfd.Close()
	r.good(os.WriteFile(r.work.Name()+"/proved", nil, 0o600))
	for n := 0; n < 3; {
		paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/root/proc/[0-9]*", r.pid))
		r.good(err)
		n = len(paths)
	}
	r.good(r.session.Start())
	_, err = r.session.Wait(Watch{Started: func(time.Time) { t.Error("the analysis has started") }, Usage: func(protocol.Usage) {}})
	if err == nil || !strings.Contains(err.Error(), "its container has 3 processes") {
		t.Errorf("the run ends with %v", err)
	}
	r.end()
	h.end()
}
