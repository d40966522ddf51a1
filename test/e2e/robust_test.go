package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignalToTheWholeGroup: a service manager sends SIGTERM to every process of a unit. The supervisor leaves the end
// to the launcher, and no output is lost.
func TestSignalToTheWholeGroup(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	l := h.launch(id, "--grace", "10m", "--", "sh", "-c", "echo x >before; echo ready; exec sleep 1000")
	l.await("ready")
	if err := syscall.Kill(l.supervisor().pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	l.signal(syscall.SIGTERM)
	r := l.wait()
	r.expect(t, "canceled", "stopped", 143)
	if r.output("before").SHA256 == "" {
		t.Errorf("outputs %+v", r.Outputs)
	}
}

// TestReaderThatStalls: a pipe that nobody reads holds the analysis up, but not the end of the run.
func TestReaderThatStalls(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd := h.command(theHost.bin, "run", "-q", "--id", id, "--timeout", "1s", "--", "sh", "-c", "head -c 2000000 /dev/zero; sleep 1000")
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	until(t, hangTimeout, "the analysis runs", func() bool { return grandchildren(cmd.Process.Pid) > 0 })
	until(t, hangTimeout, "the analysis has timed out", func() bool { return grandchildren(cmd.Process.Pid) == 0 })
	// A signal that comes before the launcher knows of the end stops the run; the next one insists.
	stopInsisting := insist(t, cmd.Process)
	_ = cmd.Wait() // its code is looked at
	stopInsisting()
	r := h.show(id)
	if code := cmd.ProcessState.ExitCode(); code != r.ExitCode || code != 124 && code != 143 {
		t.Errorf("exit code %d, the result says %d; want 124, or 143", code, r.ExitCode)
	}
}

// insist sends SIGTERM every second until the returned function is called.
func insist(t *testing.T, process *os.Process) (enough func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
				if err := process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Error(err)
				}
			}
		}
	}()
	return func() { close(done); <-ended }
}

// grandchildren counts what a launcher's supervisor has started.
func grandchildren(launcher int) int {
	var supervisors []int
	processes(func(p process) bool {
		if p.parent == launcher && strings.HasPrefix(string(p.command), "scidex-oci: supervisor") {
			supervisors = append(supervisors, p.pid)
		}
		return false
	})
	count := 0
	processes(func(p process) bool {
		for _, s := range supervisors {
			if p.parent == s {
				count++
			}
		}
		return false
	})
	return count
}

// TestIgnoredHangup: a signal that nohup has set to be ignored stays ignored.
func TestIgnoredHangup(t *testing.T) {
	h := newHarness(t)
	end := h.flag()
	cmd := h.command("sh", "-c", `trap '' HUP; exec "$@"`, "sh", theHost.bin, "run", "-q", "--id", h.newID(),
		"--input", end.input(), "--", "sh", "-c", "echo ready; "+awaited)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	end.raise()
	if err := cmd.Wait(); err != nil {
		t.Errorf("SIGHUP under nohup: %v", err)
	}
}

// TestDeletedWorkingDirectory gets one sentence and one object.
func TestDeletedWorkingDirectory(t *testing.T) {
	h := newHarness(t)
	out := h.finish(h.command("sh", "-c", `mkdir gone && cd gone && rmdir ../gone && exec "$@"`, "sh",
		theHost.bin, "run", "--json", "--id", h.newID(), "--", "true"))
	r, err := parseResult([]byte(out.stdout))
	if err != nil || out.code != 125 || r.Reason != "request" || !strings.Contains(r.Message, "working directory") {
		t.Errorf("exit code %d, %v, result %+v, %s", out.code, err, r, out.stderr)
	}
}

// TestGCSparesStartingRuns: gc never takes a run that is just beginning for a dead one.
func TestGCSparesStartingRuns(t *testing.T) {
	h := newHarness(t)
	stop, stopped := make(chan struct{}), make(chan error)
	for range 2 {
		go func() {
			for {
				select {
				case <-stop:
					stopped <- nil
					return
				default:
				}
				cmd := h.command(theHost.bin, "gc")
				if said, err := cmd.CombinedOutput(); err != nil {
					stopped <- fmt.Errorf("gc: %w: %s", err, said)
					return
				}
			}
		}()
	}
	for range 20 {
		h.start("--id", h.newID(), "--", "sh", "-c", "sleep 0.02; echo hi >o").expect(t, "complete", "exit", 0)
	}
	close(stop)
	for range 2 {
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
}
