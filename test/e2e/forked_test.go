package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// feed is a batch whose lines a test writes one after the other.
type feed struct {
	h    *harness
	cmd  *exec.Cmd
	to   io.WriteCloser
	from *bufio.Reader
}

func (h *harness) feed(args ...string) *feed {
	h.t.Helper()
	f := &feed{h: h, cmd: h.command(theHost.bin, append([]string{"batch", "--jobs=1"}, append(args, "-")...)...)}
	var err error
	f.to, err = f.cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	from, err := f.cmd.StdoutPipe()
	if err == nil {
		err = f.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	f.from = bufio.NewReader(from)
	return f
}

func (f *feed) write(line manifest) {
	f.h.t.Helper()
	text, err := json.Marshal(maps.Clone(line).and("id", f.h.newID()))
	if err == nil {
		_, err = f.to.Write(append(text, '\n'))
	}
	if err != nil {
		f.h.t.Fatal(err)
	}
}

// run has a line run, and returns its result.
func (f *feed) run(line manifest) result {
	f.h.t.Helper()
	f.write(line)
	return f.read()
}

// read returns the next result.
func (f *feed) read() result {
	f.h.t.Helper()
	text, err := f.from.ReadString('\n')
	if err != nil {
		f.h.t.Fatal(err)
	}
	r, err := parseResult([]byte(text))
	if err != nil {
		f.h.t.Fatal(err)
	}
	return r
}

// maxUnforked is how many lines may pass until a template is ready: it is made beside them.
const maxUnforked = 500

// untilForked repeats a line until it is forked, and returns that result.
func (f *feed) untilForked(line manifest) result {
	f.h.t.Helper()
	for n := range maxUnforked {
		r := f.run(line)
		if r.kind() == "forked" {
			return r
		}
		time.Sleep(min(time.Duration(n), 4) * 200 * time.Millisecond) // a line costs as much as the template does meanwhile
	}
	f.h.t.Fatal("no line was forked")
	return result{}
}

func (r result) kind() string {
	if r.Start == nil {
		return ""
	}
	return r.Start.Kind
}

// end ends the batch, which must exit with the code.
func (f *feed) end(code int) {
	f.h.t.Helper()
	if err := f.to.Close(); err != nil {
		f.h.t.Fatal(err)
	}
	f.h.ended(f.cmd, code)
}

// close ends the batch where the test has not: its lines have their results.
func (f *feed) close() {
	_ = f.to.Close()
	_ = f.cmd.Wait()
}

// doesAsTold imports something, and does what its argument says.
const doesAsTold = `
import json
import os, sys, time
print(sys.argv[1:], sorted(os.listdir("/work")), "decimal" in sys.modules)
if sys.argv[1] == "memory":
    bytearray(300 << 20)
elif sys.argv[1] == "pids":
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(1000)
elif sys.argv[1] == "time":
    open("started", "w").close()
    time.sleep(1000)
elif sys.argv[1] == "files":
    for i in range(100000):
        open("f%d" % i, "w").close()
elif sys.argv[1] == "network":
    import socket
    socket.socket().connect_ex(("192.0.2.1", 5432))
elif sys.argv[1] == "signal":
    os.kill(os.getpid(), 15)
elif sys.argv[1] == "doorbell": # as the supervisor tells init of the end, but without its message; Landlock stops it
    import ctypes, struct
    info = struct.pack("iiiiii", 17, 0, -1, 0, 0, 0).ljust(128, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(129, 1, 17, info) and ctypes.get_errno() != 1: # rt_sigqueueinfo(2) of x86-64
        sys.exit(5)
    time.sleep(0.5)
elif sys.argv[1] == "die":
    os.execvp("sh", ["sh", "-c", "exit 9"])
open("result", "w").write(sys.argv[1])
`

// TestForked forks lines from a template: each is as it would be alone, under its own limits, and with its own evidence.
func TestForked(t *testing.T) {
	h := newHarness(t)
	script := h.write("told.py", doesAsTold, 0o644)
	line := func(args ...string) manifest {
		return manifest{"script": script, "args": args, "memory": "200M", "pids": 20, "timeout": "30s", "work_files": 1000, "preload": "decimal"}
	}
	f := h.feed()
	first := f.untilForked(line("well", "a b"))
	if said := h.stdoutOf(first); said != "['well', 'a b'] [] True\n" {
		t.Errorf("it said %q", said)
	}
	if first.Start.Modules["decimal"] == "" || first.Start.SharedBytes == 0 || len(first.Outputs) != 1 {
		t.Errorf("%+v, %+v", first.Start, first.Outputs)
	}
	for _, c := range []struct{ what, state, reason string }{
		{"memory", "failed", "out_of_memory"},
		{"time", "failed", "timeout"},
		{"files", "failed", "work_full"},
		{"signal", "failed", "signal"},
		{"network", "complete", "exit"},
		{"doorbell", "complete", "exit"},
		{"die", "failed", "exit"},
		{"well", "complete", "exit"},
	} {
		told := line(c.what)
		if c.what == "time" {
			told["timeout"] = "1s"
		}
		r := f.run(told)
		if r.State != c.state || r.Reason != c.reason || r.kind() != "forked" {
			t.Errorf("%s: %s, %s (%s), start %+v; want %s, %s", c.what, r.State, r.Reason, r.Message, r.Start, c.state, c.reason)
		}
		if said := h.stdoutOf(r); said != "['"+c.what+"'] [] True\n" && (c.what != "time" || said != "") { // it may have had no time for that
			t.Errorf("%s: it said %q", c.what, said)
		}
		if said := r.said(); (c.what == "network") != slices.Contains(said, "connect tcp 192.0.2.1:5432 high 1") {
			t.Errorf("%s: the audit says %q", c.what, said)
		}
	}
	templates := h.templates()
	f.end(1)
	h.expectNothingLeft(templates...)
}

// expectNothingLeft wants nothing of runs whose ids begin so.
func (h *harness) expectNothingLeft(prefixes ...string) {
	h.t.Helper()
	if len(prefixes) == 0 {
		h.t.Error("there was no template")
	}
	for _, prefix := range prefixes {
		if left := leftovers(prefix, h.root); len(left) > 0 {
			h.t.Errorf("left: %q", left)
		}
	}
}

// templates are the ids of the templates that are there.
func (h *harness) templates() (ids []string) {
	for _, state := range matches(h.root + "/runs/template-*.json") {
		ids = append(ids, strings.TrimSuffix(filepath.Base(state), "@1.json"))
	}
	return ids
}

// template is the process of the only template that is there.
func (h *harness) template() int {
	h.t.Helper()
	for _, id := range h.templates() {
		for _, group := range groupsOf(id) {
			for pid := range strings.Lines(readFile(h.t, group+"/cgroup.procs")) {
				n, err := strconv.Atoi(strings.TrimSpace(pid))
				if err != nil {
					h.t.Fatal(err)
				}
				return n
			}
		}
	}
	h.t.Fatal("there is no template")
	return 0
}

// feedForked is a batch whose next lines are forked, if they are like the line.
func (h *harness) feedForked() (*feed, manifest) {
	h.t.Helper()
	f := h.feed()
	line := manifest{"script": h.write("told.py", doesAsTold, 0o644), "args": []string{"well"}, "preload": "decimal"}
	f.untilForked(line)
	return f, line
}

// TestTemplateKilled kills a template: what was forked goes on, the next line starts without it, and then there is another.
func TestTemplateKilled(t *testing.T) {
	h := newHarness(t)
	f, line := h.feedForked()
	if err := unix.Kill(h.template(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.run(line).expect(t, "complete", "exit", 0)
	f.untilForked(line)
	templates := h.templates()
	f.end(0)
	h.expectNothingLeft(templates...)
}

// TestForkedKilled kills scidex-oci while a line runs that was forked: the next command removes all that is left of it and of the
// template.
func TestForkedKilled(t *testing.T) {
	h := newHarness(t)
	f, line := h.feedForked()
	f.write(line.and("args", []string{"time"}))
	h.untilStarted()
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait()
	h.collectUntilNothingIsLeft()
}

// collectUntilNothingIsLeft runs gc until the supervisors that were killed with their launcher have let go of the ingest directories.
func (h *harness) collectUntilNothingIsLeft() {
	h.t.Helper()
	var left []string
	all := append(h.templates(), h.run)
	until(h.t, hangTimeout, "nothing is left", func() bool {
		h.mustRun("gc")
		left = nil
		for _, prefix := range all {
			left = append(left, leftovers(prefix, h.root)...)
		}
		return len(left) == 0
	})
}

// untilStarted waits until a line sleeps.
func (h *harness) untilStarted() {
	h.t.Helper()
	until(h.t, hangTimeout, "a line has started", func() bool { return len(matches("/tmp/scidex-analysis-"+h.run+"*/work/started")) > 0 })
}

// TestForkedSupervisorKilled kills both supervisors while a line runs that was forked: it is lost, and the batch goes on with others.
func TestForkedSupervisorKilled(t *testing.T) {
	h := newHarness(t)
	f, line := h.feedForked()
	f.write(line.and("args", []string{"time"}))
	h.untilStarted()
	for _, w := range familyOf(t, f.cmd.Process.Pid) {
		if isSupervisor(w) {
			w.kill(t)
		}
	}
	f.read().expect(t, "lost", "supervisor_lost", 125)
	f.untilForked(line.and("args", []string{"well"}))
	templates := h.templates()
	f.end(125)
	h.expectNothingLeft(templates...)
}

// TestForkedKilledAnywhere kills scidex-oci at any moment of a batch whose lines are forked: nothing is left, and --resume runs
// what was lost, each line once.
func TestForkedKilledAnywhere(t *testing.T) {
	for range soakCount(60) {
		h := newHarness(t)
		script := h.write("told.py", doesAsTold, 0o644)
		var lines []manifest
		for range 30 {
			lines = append(lines, manifest{"id": h.newID(), "script": script, "args": []string{"well"}, "preload": "json"})
		}
		file := h.lines(lines...)
		b := h.begin("batch", "--jobs=2", file)
		until(t, hangTimeout, "there is a template", func() bool {
			select {
			case <-b.done:
				return true
			default:
				return len(h.templates()) > 0
			}
		})
		moment := time.Duration(rand.IntN(1500)) * time.Millisecond
		time.Sleep(moment)
		_ = b.cmd.Process.Kill() // it may have ended
		b.end()
		h.collectUntilNothingIsLeft()
		got, _ := h.batch(0, "--resume", file)
		for id, r := range got {
			if r.State != "complete" || r.OutputsTotal != 1 {
				t.Errorf("killed %v after the template was there: %s is %s with %d outputs", moment, id, r.State, r.OutputsTotal)
			}
		}
		if len(got) != len(lines) {
			t.Errorf("%d results of %d lines", len(got), len(lines))
		}
	}
}

// TestQueueForked has a worker fork analyses of one script that have the same project, and no others.
func TestQueueForked(t *testing.T) {
	h, db := inQueue(t)
	w := h.worker("--jobs", "1", "--warm-by", "project")
	script := h.write("told.py", doesAsTold, 0o644)
	start := func(flags ...string) result {
		t.Helper()
		id := h.newID()
		h.mustRun(append([]string{"submit", "--id", id, "--script", script, "--preload", "decimal", "--retries", "0"}, append(flags, "--", "well")...)...)
		h.comes(db, id, "complete")
		r := w.show(id)
		if said := w.stdoutOf(r); !strings.HasPrefix(said, "['well'] []") {
			t.Errorf("it said %q", said)
		}
		return r
	}
	forked := false
	for i := 0; i < maxUnforked && !forked; i++ {
		forked = start("--label", "project=a").kind() == "forked"
	}
	if !forked {
		t.Fatal("no analysis was forked")
	}
	if r := start("--label", "project=b"); r.kind() == "forked" {
		t.Error("an analysis of another project was forked from the same interpreter")
	}
	if r := start(); r.kind() == "forked" {
		t.Error("an analysis without a project was forked")
	}
	if r := start("--label", "project=a"); r.kind() != "forked" {
		t.Errorf("start %+v", r.Start)
	}
	templates := w.templates()
	w.end()
	h.expectNothingLeft(templates...)
}
