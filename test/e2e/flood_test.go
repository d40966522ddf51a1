package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// floodMemory is what a flood of 1 GB may cost the launcher and the supervisor each, beyond that of a neighbour that
// writes nothing: VmHWM of proc_pid_status(5), the most that was ever resident. Usual are some MiB.
const floodMemory = 64 << 20

// floodBytes is the length of each stream of a flood: together a tenth of what SCIDEX_OCI_SOAK requests.
func floodBytes() int64 {
	if os.Getenv("SCIDEX_OCI_SOAK") != "" {
		return 10_000_000_000
	}
	return 500_000_000
}

// floods writes rows of digits to standard output and of letters to standard error, both at once.
const floods = `
import os, sys
def flood(fd, row, left):
    block, at = memoryview(row * 100000), 0
    while left:
        wrote = os.write(fd, block[at:at + left])
        left, at = left - wrote, (at + wrote) % len(block)
child = os.fork()
flood(2 if child else 1, b"abcdefghij\n" if child else b"0123456789\n", int(sys.argv[1]))
if child:
    os.waitpid(child, 0)
    open("done.txt", "w").close()
else:
    os._exit(0)
`

// TestFloodMemory lets both streams flood. A neighbour goes on at the same time.
func TestFloodMemory(t *testing.T) {
	for name, extra := range map[string]string{"passed on": "--quiet", "with --json": "--json"} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			rest := h.flag()
			neighbour := h.launch(h.id("neighbour"), append(flags("--input", rest.input()), shell("echo ready >&2; "+awaited+"; echo x >x.txt")...)...)
			neighbour.await("ready")
			h.write("flood.py", floods, 0o644)
			n := floodBytes()
			script := fmt.Sprintf("python3 /inputs/flood.py %d; %s", n, awaited)
			f := h.flood("run", extra, "--id", h.id("f"), "--log-size=1MiB", "--cpus=2", "--input", h.path("flood.py"), "--input", rest.input(), "--", "sh", "-c", script)
			f.await(t, 2*n)
			quiet := &flooding{cmd: neighbour.cmd}
			for who, pids := range map[string][2]int{
				"launcher": {f.cmd.Process.Pid, quiet.cmd.Process.Pid}, "supervisor": {f.supervisor(t), quiet.supervisor(t)},
			} {
				most, beside := residentMost(t, pids[0]), residentMost(t, pids[1])
				t.Logf("%d bytes: the %s had %d MiB at most, that of the neighbour %d", 2*n, who, most>>20, beside>>20)
				if most > beside+floodMemory {
					t.Errorf("a flood of %d bytes took the %s to %d bytes, that of the neighbour had %d", 2*n, who, most, beside)
				}
			}
			rest.raise()
			if err := f.wait(); err != nil {
				t.Fatalf("%v, %d bytes", err, f.passed.Load())
			}
			r := h.show(h.id("f"))
			r.expect(t, "complete", "exit", 0)
			outputsAre("done.txt")(t, r)
			for row, got := range map[string]log{"0123456789\n": r.Logs.Stdout, "abcdefghij\n": r.Logs.Stderr} {
				kept := bytes.Repeat([]byte(row), 1<<20/len(row)+1)[:1<<20]
				if want := (log{n, true, digest(kept)}); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
			other := neighbour.wait()
			other.expect(t, "complete", "exit", 0)
			outputsAre("x.txt")(t, other)
		})
	}
}

// TestFloodReadLate: a reader that comes back when the deadline has ended the run gets all that was written.
func TestFloodReadLate(t *testing.T) {
	h := newHarness(t)
	id := h.id("late")
	cmd := h.command(theHost.bin, append(flags("run", "--quiet", "--id", id, "--timeout=2s", "--grace=1s"), shell("echo x >x.txt; exec yes")...)...)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReaderSize(stdout, 16)
	if line, err := reader.ReadString('\n'); err != nil || line != "y\n" {
		t.Fatalf("%q, %v", line, err)
	}
	until(t, hangTimeout, "the analysis ends", func() bool { return len(processesOf(id)) == 0 })
	rest, err := io.Copy(io.Discard, reader)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 124 {
		t.Error(err)
	}
	r := h.show(id)
	r.expect(t, "failed", "timeout", 124)
	outputsAre("x.txt")(t, r)
	if err != nil || rest+2 != r.Logs.Stdout.Bytes {
		t.Errorf("%d bytes came, %d were written (%v)", rest+2, r.Logs.Stdout.Bytes, err)
	}
}

// flooding is a run whose output is read and counted.
type flooding struct {
	cmd    *exec.Cmd
	passed counted
	ended  chan struct{}
	err    error
}

// counted counts what is written to it.
type counted struct{ atomic.Int64 }

// Write counts.
func (c *counted) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

func (h *harness) flood(args ...string) *flooding {
	h.t.Helper()
	// Without hangTimeout: a soak takes as long as it takes.
	f := &flooding{cmd: exec.CommandContext(h.t.Context(), theHost.bin, args...), ended: make(chan struct{})}
	f.cmd.Dir, f.cmd.Env, f.cmd.Stdout, f.cmd.Stderr = h.dir, h.env, &f.passed, &f.passed
	if err := f.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { f.err = f.cmd.Wait(); close(f.ended) }()
	h.t.Cleanup(func() { _ = f.cmd.Process.Kill(); <-f.ended })
	return f
}

// await waits until so many bytes have come.
func (f *flooding) await(t *testing.T, bytes int64) {
	t.Helper()
	for f.passed.Load() < bytes {
		select {
		case <-f.ended:
			t.Fatalf("the run ended after %d bytes of %d: %v", f.passed.Load(), bytes, f.err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (f *flooding) wait() error {
	<-f.ended
	return f.err
}

// supervisor is the pid of the run's supervisor.
func (f *flooding) supervisor(t *testing.T) int {
	t.Helper()
	found := 0
	processes(func(p process) bool {
		if p.parent == f.cmd.Process.Pid && bytes.HasPrefix(p.command, []byte("scidex-oci: supervisor")) {
			found = p.pid
		}
		return false
	})
	if found == 0 {
		t.Fatal("the run has no supervisor")
	}
	return found
}

// residentMost is the most that a process ever had resident, in bytes.
func residentMost(t *testing.T, pid int) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(raw), "VmHWM:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatalf("no VmHWM in %q", raw)
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}
