package e2e

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// launch is a `run --json` in progress.
type launch struct {
	h      *harness
	id     string
	cmd    *exec.Cmd
	stdout bytes.Buffer
	lines  chan string // what the analysis writes
	said   strings.Builder
	ended  chan struct{}
	err    error
}

// launch starts a run under the id and returns at once.
func (h *harness) launch(id string, args ...string) *launch {
	h.t.Helper()
	return h.follow(id, h.command(theHost.bin, runWith(id, args)...))
}

func runWith(id string, args []string) []string {
	return append(flags("run", "--json", "--id", id), args...)
}

// follow starts a command that runs the id.
func (h *harness) follow(id string, cmd *exec.Cmd) *launch {
	h.t.Helper()
	l := &launch{h: h, id: id, cmd: cmd, lines: make(chan string, 1000), ended: make(chan struct{})}
	l.cmd.Stdout = &l.stdout
	stderr, err := l.cmd.StderrPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	go func() {
		for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
			l.lines <- scanner.Text()
		}
		close(l.lines)
		l.err = l.cmd.Wait()
		close(l.ended)
	}()
	h.t.Cleanup(func() { _ = l.cmd.Process.Kill(); l.read(); <-l.ended })
	return l
}

// read reads the lines to their end, before the command is waited for.
func (l *launch) read() {
	for line := range l.lines {
		l.said.WriteString(line + "\n")
	}
}

// await reads on until the analysis has written the line.
func (l *launch) await(line string) {
	l.h.t.Helper()
	l.awaitWhere(line, func(got string) bool { return got == line })
}

func (l *launch) awaitWhere(what string, is func(line string) bool) {
	l.h.t.Helper()
	late := time.After(hangTimeout)
	for {
		select {
		case got, ok := <-l.lines:
			l.said.WriteString(got + "\n")
			if !ok {
				l.h.t.Fatalf("the run ended without %q: %s%s", what, l.said.String(), l.stdout.String())
			}
			if is(got) {
				return
			}
		case <-late:
			l.h.t.Fatalf("no %q within %v: %s", what, hangTimeout, l.said.String())
		}
	}
}

// wait waits for the end and returns the result; the launcher must not have been killed.
func (l *launch) wait() result {
	l.h.t.Helper()
	l.read()
	<-l.ended
	r, err := parseResult(l.stdout.Bytes())
	if err != nil {
		l.h.t.Fatalf("%v: %v\n%s", l.err, err, l.said.String())
	}
	if code := l.cmd.ProcessState.ExitCode(); code != r.ExitCode {
		l.h.t.Errorf("the process ended with %d, the result says %d", code, r.ExitCode)
	}
	return r
}

// signal sends a signal to the launcher.
func (l *launch) signal(s syscall.Signal) {
	l.h.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.h.t.Fatal(err)
	}
}

// supervisor returns the launcher's supervisor.
func (l *launch) supervisor() watched {
	l.h.t.Helper()
	for _, w := range l.family() {
		if strings.HasPrefix(w.command, "scidex-oci: supervisor") {
			return w
		}
	}
	l.h.t.Fatal("the launcher has no supervisor")
	return watched{}
}

// watched is a process with a pidfd, so that it is not taken for another one after its end.
type watched struct {
	pid     int
	command string
	fd      int
}

// family returns all processes below the launcher and the launcher itself.
func (l *launch) family() []watched {
	l.h.t.Helper()
	return familyOf(l.h.t, l.cmd.Process.Pid)
}

func familyOf(t *testing.T, launcher int) []watched {
	t.Helper()
	pids := []int{launcher}
	for grown := true; grown; {
		grown = false
		processes(func(p process) bool {
			if slices.Contains(pids, p.parent) && !slices.Contains(pids, p.pid) {
				pids, grown = append(pids, p.pid), true
			}
			return false
		})
	}
	var all []watched
	for _, pid := range pids {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			t.Cleanup(func() { unix.Close(fd) })
			p, _ := readProcess(filepath.Join("/proc", strconv.Itoa(pid)))
			all = append(all, watched{pid, string(p.command), fd})
		}
	}
	return all
}

// id is the pid as text.
func (w watched) id() string { return strconv.Itoa(w.pid) }

func (w watched) kill(t *testing.T) {
	t.Helper()
	if err := unix.PidfdSendSignal(w.fd, unix.SIGKILL, nil, 0); err != nil {
		t.Fatal(err)
	}
}

// alive reports whether the process has not ended: the pidfd of one that has is readable.
func (w watched) alive() bool {
	fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, 0)
	return n == 0 && err == nil
}

// until waits for the condition.
func until(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// with lists the processes that have the text among their arguments.
func with(text string) []string {
	return processes(func(p process) bool { return bytes.Contains(p.command, []byte(text)) })
}

// flag is a file that the host writes to and an analysis waits for. It exists from the start, since an overlay
// remembers that a name was missing.
type flag struct {
	t    *testing.T
	path string
}

func (h *harness) flag() flag {
	h.t.Helper()
	return flag{h.t, h.write(h.newID(), "", 0o644)}
}

// input is the argument of --input that shows the flag to a run.
func (f flag) input() string { return f.path + ":/inputs/flag" }

// awaited is the shell's way to wait for the flag.
const awaited = `until [ -s /inputs/flag ]; do sleep 0.05; done`

func (f flag) raise() {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte("raised"), 0o644); err != nil {
		f.t.Fatal(err)
	}
}
