package e2e

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal: what a person sees and types is at master.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, master.Fd(), unix.TIOCGPTPEER, uintptr(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC))
	if errno != 0 {
		t.Fatal(errno)
	}
	slave = os.NewFile(fd, "terminal")
	t.Cleanup(func() { _ = errors.Join(master.Close(), slave.Close()) })
	return master, slave
}

// shellSession is a `run --shell` at a terminal.
type shellSession struct {
	t      *testing.T
	cmd    *exec.Cmd
	typed  io.Writer
	screen *bufio.Reader
	seen   strings.Builder
}

func (h *harness) openShell(id string) *shellSession {
	h.t.Helper()
	master, slave := openTerminal(h.t)
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 101}); err != nil {
		h.t.Fatal(err)
	}
	cmd := h.command(theHost.bin, "run", "--shell", id)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	if err := slave.Close(); err != nil {
		h.t.Fatal(err)
	}
	return &shellSession{t: h.t, cmd: cmd, typed: master, screen: bufio.NewReader(master)}
}

// enter types a line.
func (s *shellSession) enter(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.typed, text); err != nil {
		s.t.Fatal(err)
	}
}

// await reads what is shown up to a text.
func (s *shellSession) await(text string) {
	s.t.Helper()
	for !strings.HasSuffix(s.seen.String(), text) {
		b, err := s.screen.ReadByte()
		if err != nil {
			s.t.Fatalf("waited for %q: %v; seen:\n%s", text, err, s.seen.String())
		}
		s.seen.WriteByte(b)
	}
}

// TestShell: a shell of a failed run has its files, inputs and limits, is controlled by its terminal, and leaves nothing.
func TestShell(t *testing.T) {
	h := newHarness(t)
	h.write("d/a.csv", "from data\n", 0o644)
	h.write("fit.py", "open('part.txt', 'w').write('half')\nraise ValueError('no column')\n", 0o644)
	for name, c := range map[string]struct{ keep, files string }{
		"kept":    {"failed", "a copy of its working directory"},
		"outputs": {"never", "a copy of its outputs"},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			id := h.id(name)
			h.start("--id", id, "--keep", c.keep, "--data", h.path("d"), "--env", "MARK=from-env", "--pids", "77", "--script", h.path("fit.py")).
				expect(t, "failed", "exit", 1)
			before := h.mustRun("ls", "-q").stdout
			s := h.openShell(id)
			s.await(c.files)
			// The text is put together by the shell, since the terminal also shows what is typed.
			s.enter("echo \"$MARK $(cat part.txt) $(cat /data/a.csv) $(tail -1 /analysis/fit.py) $(stty size)\" | tr a-z A-Z\r")
			s.await("FROM-ENV HALF FROM DATA RAISE VALUEERROR('NO COLUMN') 33 101")
			s.enter("sh -c 'echo $((1+1))go; exec sleep 1000'\r")
			s.await("2go\r\n")
			s.enter("\x03") // without a controlling terminal it would wait for the end of sleep
			s.await("$ ")
			s.enter("echo $((6*7))changed > part.txt; cat part.txt\r")
			s.await("42changed")
			s.enter("exit 7\r")
			if err := s.cmd.Wait(); s.cmd.ProcessState.ExitCode() != 7 {
				t.Errorf("the shell ended with %v", err)
			}
			if after := h.mustRun("ls", "-q").stdout; after != before {
				t.Errorf("the catalog has %q, before it had %q", after, before)
			}
			if got := h.mustRun("outputs", "cat", id, "part.txt").stdout; got != "half" {
				t.Errorf("the run's own file is %q", got)
			}
			h.mustRun("rm", id) // with what it kept
		})
	}
}

// TestShellRefused: unsupported options of a shell are refused before anything is made.
func TestShellRefused(t *testing.T) {
	h := newHarness(t)
	id := h.id("a")
	h.start("--id", id, "--", "false")
	h.mustRefuse([]string{"run", "--shell", id}, "--shell needs a terminal")
	h.mustRefuse([]string{"run", "--shell", id, "--", "ls"}, "leave the command", "ls")
	h.mustRefuse([]string{"run", "--shell", id, "--memory", "1GiB"}, "leave --memory out")
}

// TestShellWithoutItsTerminal: closing the window ends the shell, and nothing of it stays.
func TestShellWithoutItsTerminal(t *testing.T) {
	h := newHarness(t)
	id := h.id("a")
	h.start("--id", id, "--", "sh", "-c", "echo x >a; exit 1").expect(t, "failed", "exit", 1)
	s := h.openShell(id)
	s.enter("echo $((6*7))ready\r")
	s.await("42ready")
	if err := s.typed.(*os.File).Close(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait() // its exit status has no reader
	if got, want := h.mustRun("ls", "-q").stdout, id+"\n"; got != want {
		t.Errorf("the catalog has %q, want %q", got, want)
	}
}
