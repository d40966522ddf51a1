package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// situation is how one run of a script ended and what it printed.
type situation struct {
	start          string
	ended          string
	stdout, stderr string
	outputs        map[string]string // digests by path
}

// differs reports whether a script differs between two runs even if they start the same way.
func (s situation) differs(other situation) bool {
	return s.ended != other.ended || s.stdout != other.stdout || s.stderr != other.stderr || !maps.Equal(s.outputs, other.outputs)
}

// coldSituations are those that start cold although they could be prepared: their imports print something.
var coldSituations = map[string]string{
	"prints_at_import":  "an import printed something",
	"warning_at_import": "an import printed something",
	"nothing":           "the script imports nothing",
}

// scripts are those of testdata/ready, one for each situation that a prepared start might change.
func scripts(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/ready/*.py")
	if err != nil || len(found) < 40 {
		t.Fatalf("%d scripts, %v", len(found), err)
	}
	for i, name := range found {
		found[i] = strings.TrimSuffix(filepath.Base(name), ".py")
	}
	return found
}

// situations runs every script in a batch, with the fields of more, and returns how each ended.
func (h *harness) situations(names []string, preload string, more manifest) map[string]situation {
	h.t.Helper()
	var lines []manifest
	ids := map[string]string{}
	for _, name := range names {
		script, err := filepath.Abs("testdata/ready/" + name + ".py")
		if err != nil {
			h.t.Fatal(err)
		}
		id := h.newID()
		ids[id] = name
		line := manifest{"id": id, "script": script, "args": []string{"one", "", "--three=3"}, "preload": preload}
		maps.Copy(line, more)
		lines = append(lines, line)
	}
	got, _ := h.batch(1, h.lines(lines...))
	all := map[string]situation{}
	for id, r := range got {
		all[ids[id]] = h.situationOf(r)
	}
	return all
}

// address is that of an object, as Python prints it.
var address = regexp.MustCompile(`\b0x[0-9a-f]{8,}`)

// situationOf is what a run did.
func (h *harness) situationOf(r result) situation {
	h.t.Helper()
	s := situation{
		ended: strings.Join([]string{r.State, r.Reason, r.Message}, ", "), outputs: map[string]string{},
		stdout: address.ReplaceAllString(h.stdoutOf(r), "0x"), stderr: address.ReplaceAllString(h.stderrOf(r), "0x"),
	}
	if r.Start != nil {
		s.start = strings.TrimSuffix(r.Start.Kind+": "+r.Start.Reason, ": ")
	}
	for _, out := range r.Outputs {
		s.outputs[out.Path] = out.SHA256
	}
	return s
}

// same reports what differs from a start that was cold.
func (s situation) same(t *testing.T, name string, cold situation) {
	t.Helper()
	if cold.start != "cold: --preload none" {
		t.Errorf("%s: the cold start was %q", name, cold.start)
	}
	if cold.differs(s) {
		t.Errorf("%s differs:\ncold:  %s\n%s\n%s\n%v\n%s: %s\n%s\n%s\n%v", name,
			cold.ended, cold.stdout, cold.stderr, cold.outputs, s.start, s.ended, s.stdout, s.stderr, s.outputs)
	}
}

// compareSituations checks that a prepared script has the same result as one that starts cold, byte for byte.
func (h *harness) compareSituations(more manifest) {
	h.t.Helper()
	names := scripts(h.t)
	cold, ready := h.situations(names, "none", more), h.situations(names, "auto", more)
	for _, name := range names {
		is := ready[name]
		if want := wantedStart(name, "ready"); is.start != want && !strings.Contains(is.start, "SyntaxError") {
			h.t.Errorf("%s: the start was %q, want %q", name, is.start, want)
		}
		is.same(h.t, name, cold[name])
	}
}

// wantedStart is how the script of a situation should start.
func wantedStart(name, wanted string) string {
	if why := coldSituations[name]; why != "" {
		return "cold: " + why
	}
	return wanted
}

// TestReady compares prepared scripts with the same scripts started cold, on the host's Python.
func TestReady(t *testing.T) {
	newHarness(t).compareSituations(nil)
}

// TestReadyModules names modules up to which a script's first imports are made before its turn. The output is always the same.
func TestReadyModules(t *testing.T) {
	h := newHarness(t)
	h.write("own/local_module.py", "print('imported')", 0o644)
	h.write("shadow/random.py", "print('not the library')", 0o644)
	script := h.write("own/says.py", "import sys\nimport json.tool\nfrom xml import sax\nimport local_module\nprint('numpy' in sys.modules)\n", 0o644)
	shadow := h.write("shadow/shadow.py", "import random\nimport numpy\n", 0o644)
	const not = " is not among the script's first imports of the root filesystem or the runtime"
	for _, c := range []struct {
		line    manifest
		start   string
		modules string
	}{
		{manifest{"preload": "json"}, "ready", "json sys"},
		{manifest{"preload": "json.tool"}, "ready", "json sys"},
		{manifest{"preload": "xml.sax,sys"}, "ready", "json sys xml"},
		{manifest{"preload": "auto"}, "ready", "json sys xml"},
		{manifest{"preload": "numpy,json"}, "cold: numpy" + not, ""},
		{manifest{"preload": "xml.sa"}, "cold: xml.sa" + not, ""},
		{manifest{"preload": "local_module"}, "cold: local_module" + not, ""},
		{manifest{"env": map[string]string{"PYTHONPATH": "/data"}}, "cold: PYTHONPATH is set", ""},
	} {
		id := h.newID()
		got, _ := h.batch(0, h.lines(c.line.and("id", id).and("script", script).and("project", filepath.Dir(script))))
		r := got[id]
		if r.Start == nil || strings.TrimSuffix(r.Start.Kind+": "+r.Start.Reason, ": ") != c.start || strings.Join(keys(r.Start.Modules), " ") != c.modules {
			t.Errorf("%v: start %+v, want %s with %q", c.line, r.Start, c.start, c.modules)
		}
		if said := h.stdoutOf(r); said != "imported\nFalse\n" {
			t.Errorf("%v: it said %q", c.line, said)
		}
	}
	id := h.newID()
	got, _ := h.batch(1, h.lines(manifest{"id": id, "script": shadow, "project": filepath.Dir(shadow)}))
	if r := got[id]; r.Start == nil || !strings.Contains(r.Start.Reason, "is beside the script too") || h.stdoutOf(r) != "not the library\n" {
		t.Errorf("%+v, %q", r.Start, h.stdoutOf(r))
	}
	bad := h.newID()
	if out := h.do("run", "--id", bad, "--preload", "numpy, os", "--", "true"); out.code != 125 || !strings.Contains(out.stderr, "give auto, none or modules") {
		t.Errorf("%d %s", out.code, out.stderr)
	}
}

// moduleIn puts a module into an environment that scripts of a batch have as their runtime, and returns that.
func (h *harness) moduleIn(text string) string {
	h.t.Helper()
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	h.writeModule(venv, text)
	return venv
}

func (h *harness) writeModule(venv, text string) {
	h.t.Helper()
	writeFile(h.t, h.siteOf(venv)+"/strange.py", text, 0o644)
}

// siteOf is the directory of the modules of an environment.
func (h *harness) siteOf(venv string) string {
	h.t.Helper()
	return h.tool(venv+"/bin/python3", "-c", "import site; print(site.getsitepackages()[-1])")
}

// TestReadyPyPy has scripts run by PyPy, by its own name and by that of Python: they start cold.
func TestReadyPyPy(t *testing.T) {
	h := newHarness(t)
	names, runtime := []string{"argv", "main", "path", "streams", "traceback", "subprocesses", "ends"}, manifest{"runtime": h.venv("/usr/bin/pypy3", h.dir+"/pypy")}
	cold, auto := h.situations(names, "none", runtime), h.situations(names, "auto", runtime)
	for _, name := range names {
		was, is := cold[name], auto[name]
		if is.start != "cold: only CPython imports ahead" || !strings.Contains(is.stdout+is.stderr, map[string]string{"path": "pypy", "traceback": "RuntimeError: outer"}[name]) {
			t.Errorf("%s: its start was %q, it said %q, %q", name, is.start, is.stdout, is.stderr)
		}
		if was.differs(is) {
			t.Errorf("%s: %+v, want %+v", name, is, was)
		}
	}
	id := h.newID()
	got, _ := h.batch(0, h.lines(manifest{"id": id, "script": h.write("shebang.py", "#!/usr/bin/pypy3\nimport json, sys\nprint(sys.implementation.name)\n", 0o755)}))
	if r := got[id]; r.Start == nil || r.Start.Reason != "only CPython imports ahead" || h.stdoutOf(r) != "pypy\n" {
		t.Errorf("start %+v, it said %q", r.Start, h.stdoutOf(r))
	}
}

// TestReadyWithoutArguments has an interpreter that does not know its arguments yet when it runs the hook, such as Python 3.6.
func TestReadyWithoutArguments(t *testing.T) {
	h := newHarness(t)
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	writeFile(t, h.siteOf(venv)+"/early.pth", "import sys; vars(sys).pop('argv', None)\n", 0o644)
	id := h.newID()
	got, _ := h.batch(0, h.lines(manifest{"id": id, "script": h.write("says.py", "import json\nprint('done')\n", 0o644), "runtime": venv}))
	s := h.situationOf(got[id])
	if s.start != "cold: Python before 3.7 does not say in time which script it executes" || s.stdout != "done\n" || s.stderr != "" {
		t.Errorf("%s, it said %q%q", s.start, s.stdout, s.stderr)
	}
}

// TestReadyCustomized has a root filesystem whose own sitecustomize fails: Python reports it, and the script runs once.
func TestReadyCustomized(t *testing.T) {
	h := newHarness(t)
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	writeFile(t, h.siteOf(venv)+"/first.pth", "import os, sys; sys.path.insert(1, os.path.join(sys.prefix, 'first'))\n", 0o644)
	if err := os.Mkdir(venv+"/first", 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, venv+"/first/sitecustomize.py", "raise ValueError('own')\n", 0o644)
	line := manifest{"script": h.write("says.py", "import json\nprint('done')\n", 0o644), "runtime": venv, "id": h.newID()}
	cold := maps.Clone(line).and("preload", "none").and("id", h.newID())
	got, _ := h.batch(0, h.lines(line, cold))
	is, was := h.situationOf(got[line["id"].(string)]), h.situationOf(got[cold["id"].(string)])
	if is.start != "cold: ValueError: own" || is.stdout != "done\n" || is.stderr != was.stderr || !strings.Contains(was.stderr, "own") {
		t.Errorf("%s, it said %q%q, cold %q%q", is.start, is.stdout, is.stderr, was.stdout, was.stderr)
	}
}

// unheeding is an environment whose interpreter does not execute the hook.
func (h *harness) unheeding() string {
	h.t.Helper()
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	writeFile(h.t, h.siteOf(venv)+"/first.pth", "import os, sys; sys.path.insert(0, os.path.join(sys.prefix, 'first'))\n", 0o644)
	if err := os.Mkdir(venv+"/first", 0o755); err != nil {
		h.t.Fatal(err)
	}
	writeFile(h.t, venv+"/first/sitecustomize.py", "", 0o644)
	return venv
}

// TestReadyWithoutHook has an interpreter that does not execute the hook: the script runs once, in its turn.
func TestReadyWithoutHook(t *testing.T) {
	h := newHarness(t)
	venv := h.unheeding()
	script := h.write("counts.py", "import json\nprint(open(__file__).read() > '', file=open('count', 'a'))\nprint('done')\n", 0o644)
	once := fmt.Sprintf("%x", sha256.Sum256([]byte("True\n")))
	f := h.feed()
	defer f.close()
	for range 2 {
		s := h.situationOf(f.run(manifest{"script": script, "runtime": venv}))
		if s.start != "cold: the interpreter ended before it had imported the modules" || s.stdout != "done\n" || !strings.HasSuffix(s.outputs["count"], once) {
			t.Errorf("%s, it said %q%q, %q", s.start, s.stdout, s.stderr, s.outputs)
		}
	}
}

// TestReadyWithoutHookInProject is the same with a project, whose files are there from the beginning: the script is not
// executed a second time, also if a program that it starts executes the hook.
func TestReadyWithoutHookInProject(t *testing.T) {
	h := newHarness(t)
	venv := h.unheeding()
	for name, does := range map[string]string{
		"ends": "", "starts Python": "import os\nos.system('/usr/bin/python3 -c 0')\n", "leaves Python": "import os\nos.system('/usr/bin/python3 -c 0 &')\n",
	} {
		script := h.write("project/counts.py", "import json\nprint('ran')\n"+does, 0o644)
		line := manifest{"id": h.newID(), "script": script, "project": filepath.Dir(script), "runtime": venv}
		cold := maps.Clone(line).and("id", h.newID()).and("preload", "none")
		got, _ := h.batch(125, h.lines(line, cold))
		r := got[line["id"].(string)]
		if r.State != "error" || r.Reason != "sandbox" || !strings.Contains(r.Message, "--preload none") || strings.Count(h.stdoutOf(r), "ran") > 1 {
			t.Errorf("%s: %s, %s: %s; it said %q", name, r.State, r.Reason, r.Message, h.stdoutOf(r))
		}
		if left := leftovers(r.ID, h.root); len(left) > 0 {
			t.Errorf("%s: left: %q", name, left)
		}
		if said := h.stdoutOf(got[cold["id"].(string)]); said != "ran\n" {
			t.Errorf("%s: with --preload none it said %q", name, said)
		}
	}
}

// TestReadyWrappedProject has an interpreter that is a script with the name of Python, and a project: it starts in its turn, once.
func TestReadyWrappedProject(t *testing.T) {
	h := newHarness(t)
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	if err := os.Remove(venv + "/bin/python3"); err != nil {
		t.Fatal(err)
	}
	writeFile(t, venv+"/bin/python3", "#!/bin/sh\necho wrapped\nexec /usr/bin/python3 \"$@\"\n", 0o755)
	script := h.write("project/says.py", "import json\nprint('ran')\n", 0o644)
	line := manifest{"id": h.newID(), "script": script, "project": filepath.Dir(script), "runtime": venv}
	got, _ := h.batch(0, h.lines(line))
	if s := h.situationOf(got[line["id"].(string)]); s.start != coldEnded || s.stdout != "wrapped\nran\n" {
		t.Errorf("%s, it said %q%q", s.start, s.stdout, s.stderr)
	}
}

// TestReadyStartsAgain has a module that leaves a process and ends the interpreter when it is imported before its turn:
// the run starts again, and nothing of the first start is left.
func TestReadyStartsAgain(t *testing.T) {
	h := newHarness(t)
	venv := h.moduleIn(`
import os
if not os.path.exists("/tmp/ahead"):
    open("/tmp/ahead", "w").close()
    if os.fork() == 0:
        os.setsid()
        os.closerange(3, 100)  # what holds the note, is waited for
        os.execvp("sleep", ["sleep", "1000"])
    os._exit(0)
`)
	script := h.write("counts.py", `import strange
import glob
print([open(f).read() for f in glob.glob("/proc/[0-9]*/comm") if "sleep" in open(f).read()], "done")
`, 0o644)
	id := h.newID()
	got, _ := h.batch(0, h.lines(manifest{"id": id, "script": script, "runtime": venv}))
	r := got[id]
	if r.Start == nil || r.Start.Reason != "the interpreter ended before it had imported the modules" || h.stdoutOf(r) != "[] done\n" {
		t.Errorf("start %+v, it said %q", r.Start, h.stdoutOf(r))
	}
}

// TestReadyStopped stops a batch while a script's import hangs: the run is canceled, and nothing of it is left.
func TestReadyStopped(t *testing.T) {
	h := newHarness(t)
	venv := h.moduleIn("open('/work/importing', 'w').close()\nimport time\ntime.sleep(1000)\n")
	script := h.write("hangs.py", "import strange\n", 0o644)
	id := h.newID()
	var stdout strings.Builder
	cmd := h.command(theHost.bin, "batch", h.lines(manifest{"id": id, "script": script, "runtime": venv}))
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "the import begins", func() bool { return len(matches("/tmp/scidex-analysis-"+id+"/work/importing")) > 0 })
	h.tell(cmd, unix.SIGTERM)
	h.ended(cmd, 143)
	r := h.results(stdout.String())[id]
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if r.State != "canceled" || r.Message != "stopped by SIGTERM before anything was run" || r.StartedAt != nil {
		t.Errorf("%s, %q, started at %v", r.State, r.Message, r.StartedAt)
	}
}

// TestReadyOutOfMemory has imports that need more memory than the run may have: it ends as it does if it starts cold.
func TestReadyOutOfMemory(t *testing.T) {
	h := newHarness(t)
	script := h.write("large.py", "import numpy\nimport pandas\n", 0o644)
	ahead, cold := h.newID(), h.newID()
	got, _ := h.batch(1, h.lines(
		manifest{"id": ahead, "script": script, "memory": "24MiB"}, manifest{"id": cold, "script": script, "memory": "24MiB", "preload": "none"}))
	if a, c := got[ahead], got[cold]; a.State != "failed" || a.Reason != c.Reason || a.ExitCode != c.ExitCode || a.Start == nil || a.Start.Kind != "cold" {
		t.Errorf("%s, %s, %d; cold %s, %s, %d; %+v", a.State, a.Reason, a.ExitCode, c.State, c.Reason, c.ExitCode, a.Start)
	}
}

// TestReadyWithAProcess has a module that leaves a process: the script runs next to it. A process that holds the output
// makes the start cold.
func TestReadyWithAProcess(t *testing.T) {
	for kind, closed := range map[string]string{"cold": "pass", "ready": "os.closerange(0, 4096)"} {
		t.Run(kind, func(t *testing.T) {
			h := newHarness(t)
			venv := h.moduleIn(`
import os
r, w = os.pipe() # it ends when the child is sleep
if os.fork() == 0:
    ` + closed + `
    os.execvp("sleep", ["sleep", "1000"])
os.close(w)
os.read(r, 1)
os.close(r)
`)
			script := h.write("goes.py", "import strange\nprint('goes on')\n", 0o644)
			id := h.newID()
			got, _ := h.batch(0, h.lines(manifest{"id": id, "script": script, "runtime": venv}))
			if r := got[id]; r.Start == nil || r.Start.Kind != kind || h.stdoutOf(r) != "goes on\n" {
				t.Errorf("start %+v, it said %q", r.Start, h.stdoutOf(r))
			}
		})
	}
}

// TestReadyFillsWork has a module that writes more than /work may hold: that ends the run before it began.
func TestReadyFillsWork(t *testing.T) {
	h := newHarness(t)
	venv := h.moduleIn("import time\nfor n in range(8):\n    open('/work/%d' % n, 'wb').write(b'x' * (5 << 20))\ntime.sleep(1000)\n")
	script := h.write("fills.py", "import strange\n", 0o644)
	id := h.newID()
	got, _ := h.batch(1, h.lines(manifest{"id": id, "script": script, "runtime": venv, "work_size": "16MiB"}))
	if r := got[id]; r.State != "failed" || r.Reason != "work_full" || r.StartedAt != nil {
		t.Errorf("%s, %s: %s; started at %v", r.State, r.Reason, r.Message, r.StartedAt)
	}
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
