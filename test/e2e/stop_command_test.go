package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deaf does not end by SIGTERM, and prints that it has received it.
const deaf = `trap 'echo heard' TERM; echo x >before; echo ready; while :; do sleep 0.05; done`

// TestStop ends runs from another command: with a grace period, which a second one ends, and without.
func TestStop(t *testing.T) {
	h := newHarness(t)
	gentle, twice, now := h.newID(), h.newID(), h.newID()
	h.detach(gentle, "--grace", "10m", "--", "sh", "-c", "trap 'echo x >after; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
	h.detach(twice, "--grace", "10m", "--", "sh", "-c", deaf)
	l := h.launch(now, "--grace", "10m", "--", "sh", "-c", deaf) // not detached
	h.logged(gentle, "ready")
	until(t, time.Minute, "when it has started is known", func() bool { return h.show(gentle).StartedAt != nil })
	if shown := h.mustRun("show", gentle, "--json").stdout; !strings.Contains(shown, `"exit_code":null`) {
		t.Errorf("it goes on, and its result is %s", shown)
	}
	if shown := h.mustRun("show", gentle).stdout; !strings.Contains(shown, " so far\n") || !strings.Contains(shown, "\nstarted ") || strings.Contains(shown, "not measured") {
		t.Errorf("it goes on, and is shown as %s", shown)
	}
	if out := h.mustRun("stop", gentle); !strings.HasPrefix(out.stdout, gentle+"@1  canceled (143): ") || out.stderr != "" {
		t.Errorf("%+v", out)
	}
	r := h.show(gentle)
	r.expect(t, "canceled", "stopped", 143)
	if !strings.Contains(r.Message, "scidex-oci stop") || r.output("after").SHA256 == "" {
		t.Errorf("%q, outputs %+v", r.Message, r.Outputs)
	}

	h.logged(twice, "ready")
	first := h.begin("stop", twice)
	h.logged(twice, "heard")
	h.mustRun("stop", twice)
	if out := first.end(); out.code != 0 {
		t.Errorf("the first stop: %+v", out)
	}
	h.show(twice).expect(t, "canceled", "stopped", 143)

	l.await("ready")
	h.mustRun("stop", "--now", now)
	r = l.wait()
	r.expect(t, "canceled", "stopped", 143)
	if strings.Contains(h.mustRun("logs", now).stdout, "heard") || r.output("before").SHA256 == "" {
		t.Error("with --now it had a grace period, or was not harvested")
	}

	h.mustRefuse([]string{"stop", gentle}, gentle+"@1", "ended already", "canceled")
	h.mustRefuse([]string{"stop", h.id("none")}, "no run")
	h.mustRefuse([]string{"stop"}, "ID")
}

// TestStopBySignal: the end of a run by a plain signal is not attributed to `stop`.
func TestStopBySignal(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	h.detach(id, "--", "sleep", "1000")
	h.launcher(id).signal(t, syscall.SIGTERM)
	h.mustRun("show", "--wait", id)
	if r := h.show(id); r.Message != "stopped by SIGTERM" {
		t.Errorf("%q", r.Message)
	}
}

// TestStopSparesOthers gives the number of a dead launcher to an innocent process, and the lock to somebody.
func TestStopSparesOthers(t *testing.T) {
	h := newHarness(t)
	id := h.killed()
	innocent := exec.Command("sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = innocent.Wait(); close(ended) }()
	defer func() { _ = innocent.Process.Kill(); <-ended }()

	fields := strings.Fields(readFile(t, filepath.Join("/proc", watched{pid: innocent.Process.Pid}.id(), "stat")))
	set := func(key, value string) {
		t.Helper()
		text := regexp.MustCompile(`"`+key+`":\d+`).ReplaceAllString(readFile(t, h.state(id)), `"`+key+`":`+value)
		if !json.Valid([]byte(text)) || !strings.Contains(text, `"`+key+`":`+value) {
			t.Fatalf("no %s in %s", key, text)
		}
		if err := os.WriteFile(h.state(id), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("pid", fields[0])
	lock, err := os.Open(h.state(id))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	h.mustRefuse([]string{"stop", id}, "was killed")
	h.show(id).expect(t, "running", "", 0)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	h.mustRefuse([]string{"stop", id}, "was killed")
	h.expectTidied(id) // by stop, which was given the same process
	select {
	case <-ended:
		t.Fatalf("the innocent process ended: %v", innocent.ProcessState)
	default:
	}
}

// TestStopByAStranger: only its owner stops a run, even if others can read all of its files.
func TestStopByAStranger(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can become another user; the tests as root do")
		return
	}
	h := newHarness(t)
	open := filepath.Join("/tmp", newPrefix())
	t.Cleanup(func() { os.RemoveAll(open) })
	h.root = filepath.Join(open, "root")
	if err := os.MkdirAll(h.root, 0o777); err != nil {
		t.Fatal(err)
	}
	h.setenv("SCIDEX_OCI_ROOT", h.root)
	id := h.newID()
	h.detach(id, "--", "sleep", "1000")
	if out, err := exec.Command("sh", "-c", `cd "$1" && chmod a+rwX .. . runs runs/* catalog.db*`, "sh", h.root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := h.command(theHost.bin, "stop", id)
	cmd.Dir, cmd.Env = "/", append(cmd.Env, "HOME="+open, "SCIDEX_OCI_BLOBS=file://"+filepath.Join(open, "theirs")) // a store belongs to its owner only
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out := h.finish(cmd)
	if out.code != 125 {
		t.Errorf("%+v", out)
	}
	checkSentence(t, out.stderr, id+"@1", `user "root"`)
	if out, err := exec.Command("sh", "-c", `cd "$1" && chmod go-w .. . runs`, "sh", h.root).CombinedOutput(); err != nil { // else root refuses it
		t.Fatalf("%v: %s", err, out)
	}
	if r := h.show(id); r.State != "running" {
		t.Errorf("it is %s", r.State)
	}
	h.mustRun("stop", id)
	h.show(id).expect(t, "canceled", "stopped", 143)
}

// TestWatch shows runs on a terminal until Ctrl-C, and refuses to be read by a program.
func TestWatch(t *testing.T) {
	h := newHarness(t)
	h.mustRefuse([]string{"ls", "--watch"}, "terminal", "show ID --wait")
	id, f := h.newID(), h.flag()
	h.detach(id, "--input", f.input(), "--", "sh", "-c", awaited)
	term := newTerminal(t)
	cmd := h.command(theHost.bin, "ls", "--watch")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.slave, term.slave, term.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := unix.IoctlSetWinsize(int(term.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 10, Col: 60}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shows := func(words string) func() bool {
		return func() bool {
			last := term.screen()
			return strings.Contains(last[max(0, strings.LastIndex(last, "\x1b[H")):], words)
		}
	}
	until(t, hangTimeout, "the run is shown as running", shows(" running "))
	f.raise()
	until(t, hangTimeout, "the run is shown as complete", shows(" complete "))
	for line := range strings.SplitSeq(term.screen(), "\r\n") {
		if visible := regexp.MustCompile("\x1b\\[[0-9]*[A-Z]").ReplaceAllString(line, ""); len(visible) > 60 {
			t.Errorf("a line is wider than the terminal: %q", visible)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGINT {
		t.Errorf("it ended with %v, want SIGINT", cmd.ProcessState)
	}
}
