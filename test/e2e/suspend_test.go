package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// job starts a run as a shell with job control does: in a process group of its own, whose parent could continue it. No
// stopped process outlives the test.
func (h *harness) job(id string, args ...string) *launch {
	h.t.Helper()
	cmd := h.command(theHost.bin, runWith(id, args)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return h.follow(id, cmd)
}

// tasks are the threads of the analysis below a launcher, by thread id: state and CPU time. Launcher, supervisor
// and the container's init are not among them.
func tasks(launcher int) map[string]string {
	parents, own := map[int]int{}, map[int]bool{launcher: true}
	processes(func(p process) bool {
		parents[p.pid] = p.parent
		command := string(p.command)
		own[p.pid] = own[p.pid] || strings.HasPrefix(command, "scidex-oci: ") || strings.HasPrefix(command, "/dev/scidex-init")
		return false
	})
	found := map[string]string{}
	for pid := range parents {
		if own[pid] || !isBelow(parents, pid, launcher) {
			continue
		}
		for _, stat := range matches(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", pid)) {
			if raw, err := os.ReadFile(stat); err == nil {
				fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
				found[filepath.Base(filepath.Dir(stat))] = fields[0] + " " + fields[11] + " " + fields[12]
			}
		}
	}
	return found
}

func isBelow(parents map[int]int, pid, above int) bool {
	for pid > 1 && pid != above {
		pid = parents[pid]
	}
	return pid == above
}

// stateOf is a process' state, as ps shows it.
func stateOf(pid int) string {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	return strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))[0]
}

// suspend sends SIGTSTP and waits until the launcher is stopped. From then on nothing of the analysis runs.
func (l *launch) suspend() {
	l.h.t.Helper()
	l.signal(unix.SIGTSTP)
	until(l.h.t, hangTimeout, "the launcher is stopped", func() bool { return stateOf(l.cmd.Process.Pid) == "T" })
	expectStill(l.h.t, l.cmd.Process.Pid)
}

// expectStill looks at every thread of the analysis, twice: none runs, comes or goes. A parent of a vfork is D.
func expectStill(t *testing.T, launcher int) {
	t.Helper()
	before := tasks(launcher)
	if len(before) == 0 {
		t.Error("nothing of the analysis is there")
	}
	for tid, state := range before {
		if !strings.Contains("TtDZ", state[:1]) {
			t.Errorf("thread %s is %s where all is suspended", tid, state)
		}
	}
	time.Sleep(300 * time.Millisecond) // enough for a thread that is not stopped to do something
	if after := tasks(launcher); !maps.Equal(before, after) {
		t.Errorf("what is suspended goes on: %v, then %v", before, after)
	}
}

// goOn sends SIGCONT and waits until the analysis uses CPU time again.
func (l *launch) goOn() {
	l.h.t.Helper()
	before := tasks(l.cmd.Process.Pid)
	l.signal(unix.SIGCONT)
	until(l.h.t, hangTimeout, "the analysis goes on", func() bool {
		select {
		case <-l.ended: // its result says why
			return true
		default:
		}
		now := tasks(l.cmd.Process.Pid)
		return !maps.Equal(before, now) && !slices.ContainsFunc(slices.Collect(maps.Values(now)), func(s string) bool { return s[0] == 'T' })
	})
}

// busy uses CPU time all the time, and ends with the flag.
const busy = `(while :; do :; done) & echo ready; ` + awaited + `; kill $!; echo x >after`

// TestSuspended: a run that is suspended for longer than its timeout still has its time.
func TestSuspended(t *testing.T) {
	t.Parallel()
	const timeout, pause = "10s", 12 * time.Second
	h := newHarness(t)
	begin := h.flag()
	l := h.job(h.newID(), append(flags("--timeout", timeout, "--input", begin.input()), shell(busy)...)...)
	l.await("ready")
	l.suspend()
	time.Sleep(pause) // it is the clock that is tried
	l.suspend()       // once more, which changes nothing
	l.goOn()
	begin.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if r.Usage.SuspendedMS < pause.Milliseconds() || r.Usage.WallMS >= 10_000 {
		t.Errorf("usage %+v, suspended were more than %v", r.Usage, pause)
	}
	outputsAre("after")(t, r)
}

// TestSuspendedAgain: a continued run can be suspended again.
func TestSuspendedAgain(t *testing.T) {
	h := newHarness(t)
	begin := h.flag()
	l := h.job(h.newID(), append(flags("--input", begin.input()), shell(busy)...)...)
	l.await("ready")
	for range 3 {
		l.suspend()
		l.goOn()
	}
	begin.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if r.Usage.SuspendedMS == 0 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// TestSuspendedTimesOut: the clock continues from where it was stopped.
func TestSuspendedTimesOut(t *testing.T) {
	h := newHarness(t)
	l := h.job(h.newID(), append(flags("--timeout=3s", "--grace=100ms"), shell(`echo ready; while :; do :; done`)...)...)
	l.await("ready")
	l.suspend()
	l.goOn()
	l.wait().expect(t, "failed", "timeout", 124)
}

// TestSuspendedStorm: in a tree of processes that fork as fast as they can, none is left running.
func TestSuspendedStorm(t *testing.T) {
	h := newHarness(t)
	l := h.job(h.newID(), "--project", testdata(t, "."), "--script", testdata(t, "storm.py"))
	l.await("ready")
	for range 5 {
		l.suspend()
		l.goOn()
	}
	l.signal(unix.SIGINT)
	l.wait().expect(t, "canceled", "stopped", 130)
}

// TestSuspendedAndStopped: a signal that ends a run is not lost while it is suspended, and the analysis has
// its grace.
func TestSuspendedAndStopped(t *testing.T) {
	const handles = "trap 'echo x >after; exit 0' TERM; echo ready; while :; do sleep 0.1; done"
	for _, signal := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP} {
		t.Run(unix.SignalName(signal), func(t *testing.T) {
			h := newHarness(t)
			l := h.job(h.newID(), append(flags(never), shell(handles)...)...)
			l.await("ready")
			l.suspend()
			l.signal(signal)
			if state := stateOf(l.cmd.Process.Pid); state != "T" {
				t.Errorf("the launcher is %s before it may go on", state)
			}
			l.signal(unix.SIGCONT)
			r := l.wait()
			r.expect(t, "canceled", "stopped", 128+int(signal))
			outputsAre("after")(t, r)
		})
	}
}

// TestSuspendedAndKilled: the death of launcher or supervisor also ends stopped processes.
func TestSuspendedAndKilled(t *testing.T) {
	for _, whom := range []string{"launcher", "supervisor"} {
		t.Run(whom, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			l := h.job(id, "--", "sh", "-c", endless, id+"-marker")
			l.await("ready")
			all := l.family()
			l.suspend()
			if whom == "launcher" {
				l.signal(unix.SIGKILL)
				expectGone(t, all, id)
				h.expectLost(id)
				return
			}
			l.supervisor().kill(t)
			until(t, gone, "the processes of the run end", func() bool { return len(tasks(l.cmd.Process.Pid)) == 0 })
			l.signal(unix.SIGCONT)
			l.wait().expect(t, "lost", "supervisor_lost", 125)
			expectGone(t, all, id)
		})
	}
}

// TestSuspendedFlood: full pipes without a reader do not delay the suspension.
func TestSuspendedFlood(t *testing.T) {
	h := newHarness(t)
	begin := h.flag()
	l := h.job(h.newID(), append(flags("--log-size=1KiB", "--input", begin.input()),
		shell(`echo ready; yes & `+awaited+`; kill $!`)...)...)
	l.await("ready")
	until(t, hangTimeout, "nobody reads any more", func() bool { return len(l.lines) == cap(l.lines) })
	l.suspend()
	l.signal(unix.SIGCONT)
	begin.raise()
	go func() {
		for range l.lines { // as a pager that goes on
		}
	}()
	l.wait().expect(t, "complete", "exit", 0)
}

// TestSuspendedInHook: if no analysis runs, only the launcher is suspended; the hook is not an analysis.
func TestSuspendedInHook(t *testing.T) {
	h := newHarness(t)
	begin := h.flag()
	hook := h.write("hook", "#!/bin/sh\necho hooked\nuntil [ -s "+begin.path+" ]; do sleep 0.05; done\n", 0o755)
	l := h.job(h.newID(), "--post-process", hook, "--", "true")
	l.await("hooked")
	l.signal(unix.SIGTSTP)
	until(t, hangTimeout, "the launcher is stopped", func() bool { return stateOf(l.cmd.Process.Pid) == "T" })
	begin.raise()
	l.signal(unix.SIGCONT)
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if r.Usage.SuspendedMS != 0 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// TestSuspendedWithoutShell: if nobody could continue the launcher, it is not stopped, as the kernel would not stop it:
// it waits, with its analysis suspended, for SIGCONT, or for a signal that ends it.
func TestSuspendedWithoutShell(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, runWith(h.id("s"), append(flags(never), shell(`echo ready; while :; do :; done`)...))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	l := h.follow(h.id("s"), cmd)
	l.await("ready")
	stopped := func() bool {
		all := slices.Collect(maps.Values(tasks(cmd.Process.Pid)))
		return len(all) > 0 && !slices.ContainsFunc(all, func(s string) bool { return s[0] != 'T' })
	}
	l.signal(unix.SIGTSTP)
	until(t, hangTimeout, "the analysis is suspended", stopped)
	l.goOn()
	l.signal(unix.SIGTSTP)
	until(t, hangTimeout, "the analysis is suspended", stopped)
	l.signal(unix.SIGTERM)
	l.wait().expect(t, "canceled", "stopped", 143)
}

// TestSuspendIgnored: if scidex-oci is started with SIGTSTP ignored, the run is not suspended.
func TestSuspendIgnored(t *testing.T) {
	h := newHarness(t)
	begin := h.flag()
	cmd := h.command("/usr/bin/python3", append([]string{
		"-c",
		"import os, signal, sys; signal.signal(signal.SIGTSTP, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])", theHost.bin,
	},
		runWith(h.id("i"), append(flags("--input", begin.input()), shell(busy)...))...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	l := h.follow(h.id("i"), cmd)
	l.await("ready")
	l.signal(unix.SIGTSTP)
	begin.raise()
	r := l.wait() // a launcher that is stopped never ends
	r.expect(t, "complete", "exit", 0)
	if r.Usage.SuspendedMS != 0 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// TestCtrlZ: a shell with job control on a terminal, and a person at it.
func TestCtrlZ(t *testing.T) {
	h := newHarness(t)
	term, begin, again := newTerminal(t), h.flag(), h.flag()
	mode := term.mode()
	mode.Lflag |= unix.ISIG
	mode.Cc[unix.VSUSP] = 'Z' - '@'
	if err := unix.IoctlSetTermios(int(term.slave.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	cmd := h.command("sh", "-mc", `bin=$1 id=$2 input=$3 again=$4 work=$5
"$bin" run --id "$id" --input "$input" -- sh -c "$work"
echo "stopped with $?"
until [ -s "$again" ]; do sleep 0.05; done
fg
echo "ended with $?"`, "sh", theHost.bin, h.id("z"), begin.input(), again.path, busy)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	ended := make(chan error, 1)
	go func() { ended <- term.on(cmd, true) }()
	term.await("ready")
	if _, err := term.master.Write([]byte{'Z' - '@'}); err != nil {
		t.Fatal(err)
	}
	term.await(fmt.Sprint("stopped with ", 128+int(unix.SIGTSTP)))
	expectStill(t, childOf(t, cmd.Process.Pid, h.id("z")))
	term.await("  suspended")
	again.raise()
	begin.raise()
	if err := <-ended; err != nil {
		t.Errorf("%v: %q", err, term.screen())
	}
	term.await("ended with 0")
	r := h.show(h.id("z"))
	r.expect(t, "complete", "exit", 0)
	if r.Usage.SuspendedMS == 0 {
		t.Errorf("usage %+v", r.Usage)
	}
}

// childOf is the program that a process has started with the text among its arguments. A fork of the process has these too, until it
// executes another.
func childOf(t *testing.T, parent int, text string) (child int) {
	t.Helper()
	processes(func(p process) bool {
		if p.parent == parent && strings.HasPrefix(string(p.command), theHost.bin) && strings.Contains(string(p.command), text) {
			child = p.pid
		}
		return false
	})
	if child == 0 {
		t.Fatalf("process %d has no child with %q", parent, text)
	}
	return child
}

// await waits until a text was shown.
func (term *terminal) await(text string) {
	term.t.Helper()
	until(term.t, hangTimeout, "the terminal shows "+strconv.Quote(text), func() bool {
		term.mu.Lock()
		defer term.mu.Unlock()
		return strings.Contains(term.shown.String(), text)
	})
}
