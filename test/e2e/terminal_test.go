package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudoterminal: the test has the end of the person in front of it.
type terminal struct {
	t             *testing.T
	master, slave *os.File
	mu            sync.Mutex
	shown         strings.Builder
}

// newTerminal makes one that passes every byte on as it is.
func newTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, master: master, slave: slave}
	mode := term.mode()
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG
	mode.Oflag &^= unix.OPOST
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 0, 0 // a read returns what is there
	if err := unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, mode); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { term.watch(); close(ended) }()
	t.Cleanup(func() { slave.Close(); <-ended; master.Close() })
	return term
}

// watch reads what is shown until the last one closes the terminal, which is an error here (EIO).
func (term *terminal) watch() {
	buffer := make([]byte, 4096)
	for {
		n, err := term.master.Read(buffer)
		if err != nil {
			return
		}
		term.mu.Lock()
		term.shown.Write(buffer[:n])
		term.mu.Unlock()
	}
}

// screen is what was shown so far, when nothing came for a moment.
func (term *terminal) screen() string {
	for last := -1; ; time.Sleep(100 * time.Millisecond) {
		term.mu.Lock()
		text := term.shown.String()
		term.mu.Unlock()
		if len(text) == last {
			return text
		}
		last = len(text)
	}
}

func (term *terminal) mode() *unix.Termios {
	term.t.Helper()
	mode, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
	if err != nil {
		term.t.Fatal(err)
	}
	return mode
}

// state is what a program can change of the terminal for its next user.
func (term *terminal) state() string {
	term.t.Helper()
	size, err := unix.IoctlGetWinsize(int(term.slave.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		term.t.Fatal(err)
	}
	exclusive, err := unix.IoctlGetInt(int(term.slave.Fd()), unix.TIOCGEXCL)
	if err != nil {
		term.t.Fatal(err)
	}
	return fmt.Sprint(*term.mode(), *size, exclusive)
}

// typed is the input that waits for who reads next.
func (term *terminal) typed() string {
	term.t.Helper()
	buffer := make([]byte, 4096)
	n, err := unix.Read(int(term.slave.Fd()), buffer)
	if err != nil {
		term.t.Fatal(err)
	}
	return string(buffer[:n])
}

// on starts a command on the terminal, in a session of its own, and waits for its end.
func (term *terminal) on(cmd *exec.Cmd, controlling bool) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.slave, term.slave, term.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: controlling}
	return cmd.Run()
}

// terminalTargets is the input of terminal.py.
type terminalTargets struct {
	Names  []string `json:"names"`  // of the terminal
	Report string   `json:"report"` // the file for the verdicts, if not standard output
	Print  []string `json:"print"`  // the sequence pauses at a |
}

// sequences make a terminal answer, as if it was typed, or act on more than the text; in Latin-1.
var sequences = []string{
	"\x1b[6n", "\x1b|[6n", "\x1b[|6n", "\x1b[c", "\x1b[>c", "\x1b[21t", "\x1b[?1000h", "\x1bc", "\x05",
	"\x1b]52;c;ZXZpbA==\x07", "\x1b]0;title\x07", "\x1b]|0;title\x1b\\", "\x1bP$qm\x1b\\", "\x1b_apc\x1b\\", "\x1b^pm\x1b\\",
	"\u009b6n", "\u0090$qm\u009c", "\u00c2\u009b6n", "\u00c2|\u009b6n", "\x1b[31;6n", "\x1b[1\x1b[6n", "\x0e", "\x08\x08", "\x7f",
}

// TestTerminalIsOutOfReach starts the launcher on a terminal, and lets the analysis attack that.
func TestTerminalIsOutOfReach(t *testing.T) {
	h := newHarness(t)
	controlOfTerminal(t)
	for name, flags := range map[string][]string{"run": {"run"}, "quiet": {"run", "--quiet"}, "JSON": {"run", "--json"}} {
		t.Run(name, func(t *testing.T) {
			term, id := newTerminal(t), h.newID()
			at := term.targets()
			at.Print, at.Names = sequences, append(at.Names, "/proc/1/fd/0")
			before := term.state()
			cmd := h.command(theHost.bin, slices.Concat(flags, []string{"--id", id, "--project", testdata(t, "."), "--script", testdata(t, "terminal.py"), encode(t, at)})...)
			cmd.Env = append(cmd.Env, "TERM=xterm-256color")
			if err := term.on(cmd, true); err != nil {
				t.Fatalf("%v: %q", err, term.screen())
			}
			if got := term.typed(); got != "" {
				t.Errorf("%q waits as if it was typed", got)
			}
			if after := term.state(); after != before {
				t.Errorf("the terminal was %s, is %s", before, after)
			}
			if strings.Contains(term.screen(), "past the launcher") {
				t.Errorf("it wrote past the launcher: %q", term.screen())
			}
			verdicts, _, _ := strings.Cut(h.stdoutOf(h.show(id)), "\n")
			decodeVerdicts(t, []byte(verdicts)).each(t, func(_, got string) string {
				return unless(got != "ok", "it reached the terminal")
			})
			shownEscaped(t, term.screen())
		})
	}
}

// targets are the terminal's names, and that of a process which has it open.
func (term *terminal) targets() terminalTargets {
	return terminalTargets{Names: []string{term.slave.Name(), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), term.slave.Fd())}, Print: []string{}}
}

// shownEscaped looks for every sequence as it was printed.
func shownEscaped(t *testing.T, screen string) {
	t.Helper()
	for _, sequence := range sequences {
		raw := strings.ReplaceAll(sequence, "|", "")
		var latin []byte
		for _, r := range raw {
			latin = append(latin, byte(r))
		}
		if strings.Contains(screen, string(latin)) {
			t.Errorf("%q is shown as it is", latin)
		}
	}
	for _, want := range []string{`\x1b[6n`, `\x1b]52;c;ZXZpbA==\x07`, `\x05`} {
		if strings.Count(screen, want) < 2 { // of both streams
			t.Errorf("%s is not shown on both streams: %q", want, screen)
		}
	}
}

// controlOfTerminal runs the same program as a plain process on a terminal.
func controlOfTerminal(t *testing.T) {
	t.Helper()
	term := newTerminal(t)
	at := term.targets()
	at.Report = t.TempDir() + "/verdicts"
	before := term.state()
	cmd := exec.Command("/usr/bin/python3", "-B", testdata(t, "terminal.py"), encode(t, at))
	if err := term.on(cmd, false); err != nil {
		t.Fatalf("control: %v: %q", err, term.screen())
	}
	decodeVerdicts(t, []byte(readFile(t, at.Report))).each(t, func(name, got string) string {
		switch {
		case strings.HasPrefix(name, "feed ") && got == "EIO" && !theHost.root && kernelForbidsFeeding():
			return "" // and root may, who has CAP_SYS_ADMIN
		case strings.HasPrefix(name, "console ") && (!theHost.root || slices.Contains(noConsole, got)):
			return ""
		}
		return unless(got == "ok", "want ok outside, or it proves nothing")
	})
	if got := term.typed(); !strings.Contains(got, "typed\n") && (theHost.root || !kernelForbidsFeeding()) {
		t.Errorf("control: %q was typed", got)
	}
	if term.state() == before || !strings.Contains(term.screen(), "past the launcher") {
		t.Errorf("control: the terminal is as it was, or shows nothing: %q", term.screen())
	}
}

// noConsole are the errors of a machine without a screen.
var noConsole = []string{"ENOENT", "ENXIO", "ENODEV", "EIO", "ENOTTY"}

// kernelForbidsFeeding: TIOCSTI is for root only if the setting is 0 (Linux 6.2).
func kernelForbidsFeeding() bool {
	setting, err := os.ReadFile("/proc/sys/dev/tty/legacy_tiocsti")
	return err == nil && strings.TrimSpace(string(setting)) == "0"
}
