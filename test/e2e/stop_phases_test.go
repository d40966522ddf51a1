package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestStoppedAtAnyMoment sends SIGTERM at moments between the start of the command and its end: while the request is
// checked, the sandbox set up, the outputs harvested and committed, the hook called, copies exported. At every moment
// the command reports how it ended, the catalog has the same, and nothing is left.
func TestStoppedAtAnyMoment(t *testing.T) {
	h := newHarness(t)
	hook := h.write("hook", "#!/bin/sh\nexit 0\n", 0o755)
	ends := map[string]int{}
	for moment := time.Duration(0); moment < 600*time.Millisecond; moment += 15 * time.Millisecond {
		id := h.newID()
		cmd := h.command(theHost.bin, "run", "--json", "--id", id, "--grace=10m", "--export", filepath.Join(h.dir, "out-"+id),
			"--post-process", hook, "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do head -c 300000 /dev/urandom >$i; done")
		ends[h.stopAt(t, cmd, id, moment)]++
		if left := leftovers(id, h.root); len(left) > 0 {
			t.Errorf("stopped after %v, left are %q", moment, left)
		}
	}
	t.Logf("stopped in 15 ms steps: %v", ends)
}

// stopAt sends SIGTERM after a while and returns how the run ended, in a word.
func (h *harness) stopAt(t *testing.T, cmd *exec.Cmd, id string, after time.Duration) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), hangTimeout)
	defer cancel()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after) // whatever it is at then
	_ = cmd.Process.Signal(unix.SIGTERM)
	_ = cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("stopped after %v, it did not end", after)
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		if status.Signal() != unix.SIGTERM || stdout.Len() > 0 || h.do("show", id).code == 0 {
			t.Errorf("after %v: died of %v, with a run or a result of it: %s", after, status.Signal(), stdout.String())
		}
		return "killed before the request was read"
	}
	r, err := parseResult(stdout.Bytes())
	if err != nil {
		t.Fatalf("after %v: %v\n%s", after, err, stderr.String())
	}
	code := cmd.ProcessState.ExitCode()
	if shown := h.show(id); shown.State != r.State || shown.Reason != r.Reason || shown.ExitCode != code {
		t.Errorf("after %v: exit code %d, %s/%s; shown is %+v", after, code, r.State, r.Reason, shown)
	}
	switch r.State {
	case "complete":
		r.expect(t, "complete", "exit", 0)
		outputsAre("1", "2", "3", "4", "5", "6", "7", "8", "9")(t, r)
		return "complete"
	case "error":
		r.expect(t, "error", "post_process", 125)
		return "hook stopped"
	}
	r.expect(t, "canceled", "stopped", 143)
	if r.StartedAt == nil {
		return "stopped before the analysis began"
	}
	return "stopped"
}

// TestStoppedBeforeStart: a run that is stopped while its sandbox is being made does not start, however long its grace
// period. The supervisor is held up until the launcher has got the signal. It is there before the run is in the
// catalog, which waits for the write lock that the test holds.
func TestStoppedBeforeStart(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog
	for range 20 {
		id := h.newID()
		release := h.lockCatalog()
		l := h.launch(id, never, "--", "sh", "-c", "trap '' TERM; echo ready; while [ -e /work ]; do sleep 0.1; done", id+"-marker")
		supervisor := 0
		until(t, hangTimeout, "there is a supervisor", func() bool { supervisor = l.early(); return supervisor != 0 })
		if err := unix.Kill(supervisor, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		release()
		until(t, hangTimeout, "the run is in the catalog", func() bool { return h.do("show", id).code == 0 })
		time.Sleep(time.Second) // what it let begin before it was held up begins now, and nothing else
		begun := tasks(l.cmd.Process.Pid)
		delete(begun, strconv.Itoa(supervisor)) // which has no name of its own before it has executed
		if len(begun) > 0 {
			t.Log("too late: next time")
			l.signal(unix.SIGKILL)
			<-l.ended
			h.mustRun("gc")
			continue
		}
		l.signal(unix.SIGTERM)
		time.Sleep(time.Second) // to be heard
		// A launcher that got the signal no longer waits for it.
		if err := unix.Kill(supervisor, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Fatal(err)
		}
		all := l.family()
		r := l.wait()
		r.expect(t, "canceled", "stopped", 143)
		if r.StartedAt != nil || r.Logs.Stdout.Bytes > 0 {
			t.Errorf("it began at %v: %s", r.StartedAt, l.said.String())
		}
		if s := r.Sandbox; s.UserNamespace || s.Network != "" || s.Seccomp != "" || s.Rootfs != "host" {
			t.Errorf("without a container it had the walls %+v", s)
		}
		expectGone(t, all, id)
		return
	}
	t.Error("the supervisor was never held up in time")
}

// TestStoppedWhileItsIDsAreMapped: newuidmap may look up ids on other hosts, and wait for them. A signal to the waiting
// launcher works at once, and the unused directory is removed without newuidmap.
func TestStoppedWhileItsIDsAreMapped(t *testing.T) {
	if theHost.root || !theHost.ranged {
		t.Skip("newuidmap maps the ids of users with a range alone")
	}
	h := newHarness(t)
	id := h.newID()
	there := h.path("there")
	h.write("bin/newuidmap", "#!/bin/sh\n>'"+there+"'\nexec sleep 300\n", 0o755)
	h.setenv("PATH", h.path("bin")+":"+os.Getenv("PATH"))
	cmd := h.command(theHost.bin, "run", "--json", "--id", id, "--", "true")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "newuidmap has been started, and the run is in the catalog", func() bool {
		_, err := os.Stat(there)
		return err == nil && h.do("show", id).code == 0
	})
	hung := time.AfterFunc(hangTimeout, func() { _ = cmd.Process.Kill() }) // less than newuidmap sleeps
	_ = cmd.Process.Signal(unix.SIGTERM)
	_ = cmd.Wait()
	hung.Stop()
	r, err := parseResult(stdout.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	r.expect(t, "canceled", "stopped", 143)
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
