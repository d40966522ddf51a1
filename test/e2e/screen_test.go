package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openScreen makes a pseudo-terminal of 200 columns: the end of the person and that of programs.
func openScreen(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(screen.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 200}))
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return screen, tty
}

// onTerminal runs a program with a terminal as its controlling one and standard streams, and returns its
// exit code and all that was shown. The program must end.
func (h *harness) onTerminal(name string, args ...string) outcome {
	h.t.Helper()
	screen, tty := openScreen(h.t)
	defer screen.Close()
	cmd := h.command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	tty.Close()
	var shown bytes.Buffer
	_, _ = io.Copy(&shown, screen) // EIO when the last holder of the other end is gone (pty(7))
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		h.t.Fatal(err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: shown.String()}
}

// TestTellsOnATerminal: a command that prints nothing says to a person what it has done.
func TestTellsOnATerminal(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	h.mustRun("run", "--id", id, "--", "true")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"wrote the crate of " + id + "@1 to /", []string{"crate", id, "-o", "run.zip"}},
		{"wrote page.html", []string{"report", id, "-o", "page.html"}},
		{"removed run " + id + "@1", []string{"rm", id}},
	} {
		shown := h.onTerminal(theHost.bin, c.args...)
		if shown.code != 0 || !strings.Contains(shown.stdout, c.want) {
			t.Errorf("%q shows %q, want %q", c.args, shown.stdout, c.want)
		}
	}
}
