package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// traced is what `run --trace` writes, as docs/trace.md promises it.
type traced struct {
	OtherData   map[string]string `json:"otherData"`
	TraceEvents []struct {
		Name string         `json:"name"`
		Ph   string         `json:"ph"`
		PID  int            `json:"pid"`
		TID  int            `json:"tid"`
		TS   float64        `json:"ts"`  // microseconds
		Dur  float64        `json:"dur"` // microseconds
		Args map[string]any `json:"args"`
	} `json:"traceEvents"`
}

// phase is one of a row; depth is 0 if no other of the row is around it.
type phase struct {
	name       string
	start, end float64 // microseconds
	depth      int
}

// rows are the phases by their process and row, in the order of their begin.
type rows map[string][]phase

// trace reads a trace, and checks that phases of a row overlap only if one is within another.
func (h *harness) trace(path string) (of map[string]string, all rows) {
	h.t.Helper()
	raw := []byte(readFile(h.t, path))
	var t traced
	if err := validate("trace.json", raw); err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		h.t.Fatal(err)
	}
	names, all := map[string]string{}, rows{}
	for _, e := range t.TraceEvents {
		switch e.Name {
		case "process_name", "thread_name":
			names[fmt.Sprint(e.PID, e.TID)] = fmt.Sprint(e.Args["name"])
		}
	}
	for _, e := range t.TraceEvents {
		if e.Ph == "X" {
			row := names[fmt.Sprint(e.PID, 0)] + ": " + names[fmt.Sprint(e.PID, e.TID)]
			all[row] = append(all[row], phase{name: e.Name, start: e.TS, end: e.TS + e.Dur})
		}
	}
	for row, phases := range all {
		h.nest(row, phases)
	}
	return t.OtherData, all
}

// nest finds how deep each phase is. A thousandth of a microsecond is what a number of the file can be off.
func (h *harness) nest(row string, phases []phase) {
	h.t.Helper()
	const off = 0.002
	slices.SortStableFunc(phases, func(a, b phase) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	var around []phase
	for i := range phases {
		p := &phases[i]
		for len(around) > 0 && around[len(around)-1].end <= p.start+off {
			around = around[:len(around)-1]
		}
		if len(around) > 0 && p.end > around[len(around)-1].end+off {
			h.t.Errorf("%s: %q (%v to %v) begins within %+v and ends after it", row, p.name, p.start, p.end, around[len(around)-1])
		}
		p.depth = len(around)
		around = append(around, *p)
	}
}

// names are those of a row's phases, in the order of their begin.
func (r rows) names(row string) (names []string) {
	for _, p := range r[row] {
		names = append(names, p.name)
	}
	return names
}

// span is from the first begin to the last end.
func (r rows) span() (end float64) {
	for _, phases := range r {
		for _, p := range phases {
			end = max(end, p.end)
		}
	}
	return end
}

// named is the part of the time for which the launcher's row has a name.
func (r rows) named() float64 {
	covered, until := 0.0, 0.0
	for _, p := range r["launcher: run"] {
		if p.end > until {
			covered += p.end - max(p.start, until)
			until = p.end
		}
	}
	return covered / r.span()
}

// launchersPhases are those of every run that ends well; phases that may begin at the same moment as another are left out.
var launchersPhases = []string{
	"start of the process", "read the command line", "begin the supervisor's start", "open the catalog",
	"see to what killed runs left", "take up streams and signals", "check the request", "open the inputs", "root filesystem",
	"choose the limits", "look through the inputs", "write the intent", "make the directories", "wait for the supervisor",
	"set the limits and read them back", "create the container", "make the job",
	"send the job, wait for the container", "move it into the control group", "run the analysis",
	"prove the control group empty, read its counters", "harvest", "read the working directory", "publish", "commit",
	"hook and export", "clean", "release", "end the supervisor", "close the inputs", "close the streams", "close the catalog",
}

var supervisorsPhases = []string{
	"execute the supervisor", "settle", "make mounts private", "mount /proc", "make control groups read-only",
	"mount the staging area", "set the host name", "bring up loopback", "make /work ready",
	"stage the root filesystem and the binds", "create the container", "translate the specification",
	"start libcontainer's init", "open the gate", "watch the container", "end the audit, look at /work", "harvest", "clean",
}

// containersPhases leave out two of libcontainer's, which are reported in two different ways: "start its Go part" and "mount".
var containersPhases = []string{
	"execute libcontainer's init", "spawn its stage 1", "make the user namespace", "map its ids", "make the other namespaces",
	"spawn its stage 2", "change the root, mask paths", "end of libcontainer's init", "wait at the gate", "execute our init",
	"load the filter", "load the audit", "execute the analysis", "wait for the analysis", "end of the container",
}

// inOrder checks that a row has all of the phases, in this order, whatever is between them.
func (r rows) inOrder(t *testing.T, row string, want []string) {
	t.Helper()
	names := r.names(row)
	at := 0
	for _, name := range want {
		next := slices.Index(names[at:], name)
		if next < 0 {
			t.Errorf("%s: no %q after %q", row, name, names[:at])
			continue
		}
		at += next + 1
	}
}

// TestTrace looks at all phases of a run that does nothing.
func TestTrace(t *testing.T) {
	h := newHarness(t)
	const tries = 5 // time in which another process has the launcher's processor between two phases does not count
	named := 0.0
	for i := range tries {
		path := h.path(fmt.Sprintf("trace%d.json", i))
		r := h.start("--id", h.id(fmt.Sprint(i)), "--trace", filepath.Base(path), "--", "true")
		r.expect(t, "complete", "exit", 0)
		if info, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if info.Mode() != 0o600 {
			t.Errorf("the file has mode %v", info.Mode())
		}
		of, all := h.trace(path)
		if of["id"] != r.ID || of["state"] != "complete" {
			t.Errorf("a trace of %v, the run is %s", of, r.ID)
		}
		all.inOrder(t, "launcher: run", launchersPhases)
		all.inOrder(t, "launcher: start of the supervisor", []string{"clone it", "map its ids", "execute it", "wait until it is ready"})
		all.inOrder(t, "supervisor: supervisor", supervisorsPhases)
		all.inOrder(t, "container: init", containersPhases)
		all.inOrder(t, "container: analysis", []string{"analysis"})
		for _, name := range []string{"start its Go part", "mount"} {
			if !slices.Contains(all.names("container: init"), name) {
				t.Errorf("no %q", name)
			}
		}
		if _, tool := all["launcher: newuidmap"]; tool != (theHost.ranged && !theHost.root) {
			t.Errorf("newuidmap in the trace: %v", tool)
		}
		all.within(t)
		if named = max(named, all.named()); named >= 0.9 {
			break
		}
	}
	if named < 0.9 {
		t.Errorf("of the launcher's time %.0f %% has a name in the best of %d runs, want 90 %%", 100*named, tries)
	}
	if names, err := filepath.Glob(h.path(".*")); err != nil || len(names) > 0 {
		t.Errorf("left beside the trace: %q, %v", names, err)
	}
}

// within checks that while one process waits for another, that one does its part: all have one clock.
func (r rows) within(t *testing.T) {
	t.Helper()
	for _, pair := range []struct{ row, name, inner, within string }{
		{"launcher: run", "send the job, wait for the container", "supervisor: supervisor", "create the container"},
		{"launcher: run", "run the analysis", "container: analysis", "analysis"},
		{"launcher: run", "read the working directory", "supervisor: supervisor", "harvest"},
		{"launcher: run", "clean", "supervisor: supervisor", "clean"},
		{"supervisor: supervisor", "watch the container", "container: analysis", "analysis"},
		{"supervisor: supervisor", "start libcontainer's init", "container: init", "execute libcontainer's init"},
	} {
		outer, inner := r.find(t, pair.row, pair.name), r.find(t, pair.inner, pair.within)
		// The supervisor may begin to watch when the analysis runs already.
		if inner.end > outer.end || inner.start < outer.start && pair.name != "watch the container" {
			t.Errorf("%s: %+v is not within %s: %+v", pair.inner, inner, pair.row, outer)
		}
	}
}

func (r rows) find(t *testing.T, row, name string) phase {
	t.Helper()
	i := slices.Index(r.names(row), name)
	if i < 0 {
		t.Fatalf("%s: no %q", row, name)
	}
	return r[row][i]
}

// TestTraceOfOtherEnds: there is a trace however the run ends, and it replaces the file.
func TestTraceOfOtherEnds(t *testing.T) {
	h := newHarness(t)
	h.setenv("SCIDEX_OCI_TRACE", "trace.json")
	path := h.path("trace.json")
	h.write("trace.json", "what was there\n", 0o644)
	is := func(state string, want ...string) {
		t.Helper()
		of, all := h.trace(path)
		if of["state"] != state {
			t.Errorf("a trace of %v, the run is %s", of, state)
		}
		all.inOrder(t, "launcher: run", want)
	}
	h.start("--data", "nowhere", "--", "true").expect(t, "error", "request", 125)
	is("error", "read the command line", "open the catalog", "close the catalog")
	h.start("--memory", "1", "--", "true").expect(t, "error", "request", 125)
	is("error", "read the command line")
	h.start("--id", h.id("missing"), "--", "no-such-command").expect(t, "failed", "not_found", 127)
	is("failed", "run the analysis", "harvest", "commit", "clean", "close the catalog")
	h.start("--again", h.id("missing")).expect(t, "failed", "not_found", 127)
	is("failed", "read the command line", "open the catalog", "commit", "close the catalog")
	h.write("manifest.yaml", "command: [true]\n", 0o644)
	h.start("--id", h.id("manifest"), "-f", "manifest.yaml").expect(t, "complete", "exit", 0)
	is("complete", launchersPhases...)
	l := h.launch(h.id("canceled"), "--", "sh", "-c", "echo ready >&2; exec sleep 1000")
	l.await("ready")
	l.signal(syscall.SIGTERM)
	l.wait().expect(t, "canceled", "stopped", 143)
	is("canceled", launchersPhases...)
	l = h.launch(h.id("lost"), "--", "sh", "-c", "echo ready >&2; exec sleep 1000")
	l.await("ready")
	if err := syscall.Kill(l.supervisor().pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.wait().expect(t, "lost", "supervisor_lost", 125)
	is("lost", "run the analysis", "commit", "close the catalog")
	h.mustRun("rm", h.id("lost"))
}

// TestTraceOfADetachedRun: the trace is that of the launcher that goes on.
func TestTraceOfADetachedRun(t *testing.T) {
	h := newHarness(t)
	h.mustRun("run", "--detach", "--id", h.id("x"), "--trace", "trace.json", "--", "true")
	h.mustRun("show", "--wait", h.id("x"))
	path := h.path("trace.json")
	until(t, hangTimeout, "a trace", func() bool { _, err := os.Stat(path); return err == nil })
	of, all := h.trace(path)
	if of["id"] != h.id("x") || of["state"] != "complete" {
		t.Errorf("a trace of %v", of)
	}
	all.inOrder(t, "launcher: run", launchersPhases)
}

// TestTraceThatCannotBeWritten: an error at the end is a warning, and the run does not change.
func TestTraceThatCannotBeWritten(t *testing.T) {
	h := newHarness(t)
	dir := h.path("traces")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	id := h.id("x")
	l := h.launch(id, "--trace", "traces/x.json", "--", "sh", "-c", "echo ready >&2; sleep 1")
	l.await("ready")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if len(r.Warnings) == 0 || !strings.HasPrefix(r.Warnings[len(r.Warnings)-1], "the trace is not written: ") {
		t.Errorf("warnings %q", r.Warnings)
	}
}
