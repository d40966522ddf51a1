package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// detach starts a detached run and returns when its analysis has started. It would hang if the launcher held one of the
// pipes of this command.
func (h *harness) detach(id string, args ...string) {
	h.t.Helper()
	h.t.Cleanup(func() { h.endDetached(id) })
	out := h.mustRun(append(flags("run", "--detach", "--id", id), args...)...)
	if out.stdout != id+"\n" || out.stderr != "" {
		h.t.Errorf("run --detach printed %q and %q", out.stdout, out.stderr)
	}
}

// endDetached ends and removes the run of a failed test.
func (h *harness) endDetached(id string) {
	if len(matches(h.state(id))) == 0 {
		return
	}
	h.t.Errorf("run %s has not ended", id)
	launcher := h.launcher(id)
	all := familyOf(h.t, launcher.pid)
	launcher.kill(h.t)
	until(h.t, gone, "its processes end", func() bool { return !slices.ContainsFunc(all, watched.alive) })
	cmd := exec.Command(theHost.bin, "gc") // the context of the test has ended
	cmd.Env = h.env
	if out, err := cmd.CombinedOutput(); err != nil {
		h.t.Errorf("gc: %v: %s", err, out)
	}
}

// state is the state file of the first attempt of a run that goes on.
func (h *harness) state(id string) string { return filepath.Join(h.root, "runs", id+"@1.json") }

// launcher opens the process that the state file of a run names.
func (h *harness) launcher(id string) watched {
	h.t.Helper()
	var place struct{ Launcher struct{ PID int } }
	if err := json.Unmarshal([]byte(readFile(h.t, h.state(id))), &place); err != nil {
		h.t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(place.Launcher.PID, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { unix.Close(fd) })
	return watched{pid: place.Launcher.PID, fd: fd}
}

func (w watched) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := unix.PidfdSendSignal(w.fd, s, nil, 0); err != nil {
		t.Fatal(err)
	}
}

// background is a command that runs concurrently.
type background struct {
	h              *harness
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	done           chan struct{}
}

func (h *harness) begin(args ...string) *background {
	h.t.Helper()
	b := &background{h: h, cmd: h.command(theHost.bin, args...), done: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = &b.stdout, &b.stderr
	if err := b.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { _ = b.cmd.Wait(); close(b.done) }() // how it ended is in its state
	return b
}

// end waits for the end and returns it.
func (b *background) end() outcome {
	<-b.done
	return outcome{b.cmd.ProcessState.ExitCode(), b.stdout.String(), b.stderr.String()}
}

// logged waits until the logs of a run that goes on have the line.
func (h *harness) logged(id, line string) {
	h.t.Helper()
	until(h.t, hangTimeout, "the log has "+line, func() bool {
		return strings.Contains("\n"+h.do("logs", id).stdout, "\n"+line+"\n")
	})
}

// TestDetached follows a detached run: a reader that begins early, late or after the end gets the same bytes.
func TestDetached(t *testing.T) {
	h := newHarness(t)
	id, f := h.newID(), h.flag()
	script := `seq 1 30000; echo first >&2; ` + awaited + `; seq 30001 60000; echo second >&2; echo x >out`
	h.detach(id, "--input", f.input(), "--export", h.path("export"), "--", "sh", "-c", script)
	early := h.begin("logs", "-f", id)
	h.logged(id, "30000")
	if r := h.show(id); r.State != "running" {
		t.Errorf("it is %s", r.State)
	}
	if out := h.mustRun("ls").stdout; !strings.Contains(out, " running ") {
		t.Errorf("ls: %s", out)
	}
	waiting := h.begin("show", "--wait", "--json", id)
	late := h.begin("logs", "--follow", id)
	errs := h.begin("logs", "--follow", "--stderr", id)
	f.raise()
	out := waiting.end()
	r, err := parseResult([]byte(out.stdout))
	if err != nil || out.code != 0 {
		t.Fatalf("show --wait: %d, %v, %s", out.code, err, out.stderr)
	}
	r.expect(t, "complete", "exit", 0)
	if len(r.Outputs) != 1 || readFile(t, h.path("export/out")) != "x\n" {
		t.Errorf("outputs %+v", r.Outputs)
	}
	var want strings.Builder
	for i := range 60000 {
		fmt.Fprintln(&want, i+1)
	}
	after := h.begin("logs", "-f", id)
	for name, b := range map[string]*background{"early": early, "late": late, "after": after} {
		out := b.end()
		if out.code != 0 || out.stdout != want.String() || out.stderr != "first\nsecond\n" {
			t.Errorf("%s: exit code %d, %d bytes of %d, stderr %q", name, out.code, len(out.stdout), want.Len(), out.stderr)
		}
	}
	if out := errs.end(); out.code != 0 || out.stderr != "" || out.stdout != "first\nsecond\n" {
		t.Errorf("stderr alone: %+v", out)
	}
}

// TestDetachedHoldsNothing: neither $(...) nor the reader of another pipe of the caller's waits for the run.
func TestDetachedHoldsNothing(t *testing.T) {
	h := newHarness(t)
	id, f := h.newID(), h.flag()
	cmd := h.command("/bin/sh", "-c", `exec 7>&1 8>&2; id=$(scidex-oci run --detach "$@"); echo "<$id>"`, "sh",
		"--id", id, "--input", f.input(), "--", "sh", "-c", "echo ready; "+awaited)
	out := h.finish(cmd)
	if out.code != 0 || out.stdout != "<"+id+">\n" {
		t.Errorf("%+v", out)
	}
	if r := h.show(id); r.State != "running" {
		t.Errorf("it is %s", r.State)
	}
	for fd, want := range map[string]string{"0": "/dev/null", "1": "/dev/null", "2": "/dev/null"} {
		if got, err := os.Readlink(filepath.Join("/proc", h.launcher(id).id(), "fd", fd)); err != nil || got != want {
			t.Errorf("descriptor %s is %s, %v", fd, got, err)
		}
	}
	if sid, err := unix.Getsid(h.launcher(id).pid); err != nil || sid != h.launcher(id).pid {
		t.Errorf("the launcher is in session %d, not in one of its own: %v", sid, err)
	}
	f.raise()
	h.mustRun("show", "--wait", id)
}

// TestDetachedRefuses what a plain run refuses, as it does, and prints an object for --json.
func TestDetachedRefuses(t *testing.T) {
	h := newHarness(t)
	h.mustRefuse([]string{"run", "--detach", "--data", "nowhere", "--", "true"}, "nowhere")
	h.mustRefuse([]string{"run", "--detach"}, "nothing to run")
	h.mustRefuse([]string{"run", "--detach=maybe", "--", "true"}, "maybe")
	h.start("--detach", "--memory", "1", "--", "true").expect(t, "error", "request", 125)
	if out := h.mustRun("ls", "-q", "--limit", "0").stdout; out != "" {
		t.Errorf("a refused run is listed: %s", out)
	}
	f := h.flag()
	id := h.newID()
	out := h.mustRun(append(flags("run", "--detach", "--json", "--id", id), "--input", f.input(), "--", "sh", "-c", awaited)...)
	r, err := parseResult([]byte(out.stdout))
	if err != nil || r.ID != id || r.Attempt != 1 || r.State != "running" {
		t.Errorf("%v: %s", err, out.stdout)
	}
	h.mustRefuse([]string{"run", "--detach", "--id", id, "--", "true"}, "in use")
	f.raise()
	h.mustRun("show", "--wait", id)
	h.mustRefuse([]string{"show", "--wait", h.id("none")}, "no run")
}

// TestDetachedFromStandardInput: the launcher reads the manifest before the command returns.
func TestDetachedFromStandardInput(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	cmd := h.command(theHost.bin, flags("run", "--detach", "--id", id, "-f", "-")...)
	cmd.Stdin = strings.NewReader(`{"command": ["sh", "-c", "echo from the manifest"]}`)
	if out := h.finish(cmd); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if out := h.mustRun("logs", "-f", id); out.stdout != "from the manifest\n" {
		t.Errorf("%+v", out)
	}
	h.mustRun("show", "--wait", id) // its output is over before its launcher is
}

// onTerminal is what somebody does at a terminal that then closes: a detached run, and one that is not.
const onTerminal = `scidex-oci run --detach --id "$1" --input "$3" -- sh -c "$4" && exec scidex-oci run --id "$2" --input "$3" -- sh -c "$4"`

// TestDetachedSurvivesItsTerminal closes a pseudoterminal by killing the program behind it. The run that is not
// detached ends, which shows that the hangup comes.
func TestDetachedSurvivesItsTerminal(t *testing.T) {
	h := newHarness(t)
	detached, plain, f := h.newID(), h.newID(), h.flag()
	emulator := h.command("/usr/bin/python3", "-c", `
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    os.write(2, os.read(master, 4096))
`, "/bin/sh", "-c", onTerminal, "sh", detached, plain, f.input(), "echo ready; "+awaited)
	t.Cleanup(func() { h.endDetached(detached) })
	var screen bytes.Buffer
	emulator.Stderr = &screen
	if err := emulator.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "both run", func() bool { return len(matches(h.state(detached))) > 0 && len(matches(h.state(plain))) > 0 })
	h.logged(plain, "ready")
	h.launcher(detached).signal(t, syscall.SIGHUP) // it does not listen to that itself either
	if err := emulator.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = emulator.Wait()
	h.mustRun("show", "--wait", plain)
	h.show(plain).expect(t, "canceled", "stopped", 129)
	if r := h.show(detached); r.State != "running" {
		t.Errorf("the detached run is %s (%s)\n%s", r.State, r.Message, screen.String())
	}
	f.raise()
	h.mustRun("show", "--wait", detached)
	h.show(detached).expect(t, "complete", "exit", 0)
}

// TestDetachedFrontKilled kills the command that waits for the beginning: nobody knows the id of the run, and it ends.
func TestDetachedFrontKilled(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // the catalog is there
	id := h.newID()
	release := h.lockCatalog()
	front := h.begin(append(flags("run", "--detach", "--id", id), "--", "sh", "-c", "sleep 1000")...)
	until(t, hangTimeout, "the launcher is at its row", func() bool { return len(matches(h.state(id))) > 0 })
	if err := front.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	release()
	until(t, hangTimeout, "the run is in the catalog", func() bool { return h.do("show", id).code == 0 })
	h.mustRun("show", "--wait", id)
	r := h.show(id)
	r.expect(t, "canceled", "stopped", 143)
	if !strings.Contains(r.Message, "the command that started it") {
		t.Errorf("message %q", r.Message)
	}
	front.end()
}

// TestDetachedKilled: the run dies with the launcher, as any other, and a command that waits for it reports that.
func TestDetachedKilled(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	h.detach(id, "--", "sh", "-c", "echo ready; sleep 1000")
	h.logged(id, "ready")
	follower, waiting := h.begin("logs", "-f", id), h.begin("show", "--wait", id)
	launcher := h.launcher(id)
	all := familyOf(t, launcher.pid)
	launcher.kill(t)
	for name, b := range map[string]*background{"logs -f": follower, "show --wait": waiting} {
		out := b.end()
		if out.code != 125 {
			t.Errorf("%s: %+v", name, out)
		}
		checkSentence(t, out.stderr, id+"@1", "was killed", "scidex-oci gc")
	}
	if out := follower.stdout.String(); out != "ready\n" {
		t.Errorf("followed: %q", out)
	}
	if out := h.mustRun("ls").stdout; !strings.Contains(out, "running (dead)") {
		t.Errorf("ls: %s", out)
	}
	const killed = "does not live any more: its scidex-oci was killed"
	if out := h.mustRun("show", id).stdout; !strings.Contains(out, "state       running (dead)\n") || !strings.Contains(out, killed) {
		t.Errorf("show: %s", out)
	}
	if r := h.show(id); r.State != "running" || !strings.Contains(r.Message, killed) {
		t.Errorf("show --json: %s, %q", r.State, r.Message)
	}
	expectGone(t, all, id)
	h.mustRefuse([]string{"stop", id}, id+"@1", "was killed", "scidex-oci gc")
	h.expectTidied(id) // by stop
	if c := h.gc(); len(c.Lost)+len(c.Removed) > 0 {
		t.Errorf("gc found %+v", c)
	}
	h.mustRefuse([]string{"stop", id}, "has ended already", "lost")
}

// TestDetachedAtOnce starts five, and stops three of them with one command.
func TestDetachedAtOnce(t *testing.T) {
	h := newHarness(t)
	f := h.flag()
	var ids []string
	var all sync.WaitGroup
	for range 5 {
		id := h.newID()
		ids = append(ids, id)
		all.Go(func() { h.detach(id, "--input", f.input(), "--", "sh", "-c", "echo ready; "+awaited) })
	}
	all.Wait()
	h.gc() // touches none of them
	out := h.mustRun(append([]string{"stop"}, ids[:3]...)...)
	if strings.Count(out.stdout, "canceled (143)") != 3 {
		t.Errorf("stop: %+v", out)
	}
	f.raise()
	for i, id := range ids {
		h.mustRun("show", "--wait", id)
		if i < 3 {
			h.show(id).expect(t, "canceled", "stopped", 143)
		} else {
			h.show(id).expect(t, "complete", "exit", 0)
		}
	}
}

// TestWaitForTheHook: a run whose post-process command has not ended is waited for.
func TestWaitForTheHook(t *testing.T) {
	h := newHarness(t)
	id, f := h.newID(), h.flag()
	h.detach(id, "--post-process", `sh -c 'until [ -s `+f.path+` ]; do sleep 0.05; done; echo kept >&2'`, "--", "true")
	until(t, hangTimeout, "the run is committed", func() bool { return h.show(id).State != "running" })
	h.show(id).expect(t, "error", "post_process", 125)
	waiting := h.begin("show", "--wait", "--json", id)
	select {
	case <-waiting.done:
		t.Errorf("it did not wait: %s%s", waiting.stdout.String(), waiting.stderr.String())
	case <-time.After(300 * time.Millisecond): // can only let a fault pass, never find one
	}
	f.raise()
	r, err := parseResult([]byte(waiting.end().stdout))
	if err != nil {
		t.Fatal(err)
	}
	r.expect(t, "complete", "exit", 0)
	if r.PostProcess == nil || r.PostProcess.Stderr != "kept\n" {
		t.Errorf("post_process %+v", r.PostProcess)
	}
}
