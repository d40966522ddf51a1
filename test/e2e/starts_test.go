package e2e

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
)

// startModules are modules of a runtime by what a prepared start could change for them, and how a script that imports
// one as strange starts.
var startModules = map[string]struct{ text, start string }{
	"what it sees": {`
import __main__, getpass, os, platform, resource, socket, sys, tempfile, threading
seen = [
    sorted(os.environ.items() - {("SCIDEX_ANALYSIS_ID", os.environ["SCIDEX_ANALYSIS_ID"])}), os.getcwd(), sorted(os.listdir()), os.listdir("/data"),
    os.getuid(), os.getgid(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.stat("/usr").st_dev == os.stat("/usr/lib").st_dev,
    socket.gethostname(), platform.uname(), tempfile.gettempdir(), os.path.exists("/proc/self/stat"), threading.active_count(),
    [resource.getrlimit(getattr(resource, name)) for name in sorted(dir(resource)) if name.startswith("RLIMIT")],
    sys.argv, sys.path, sys.flags, sys.stdout.isatty(), os.fstat(1).st_mode, os.fstat(2).st_mode, sorted(vars(__main__)),
    __main__.__file__, type(__main__.__loader__).__name__, __main__.__cached__, __name__, os.getppid(), os.getsid(0) == os.getpid(),
]
`, "ready"},
	"device numbers": {"import os\nnumbers = [os.stat(path).st_dev for path in ('/usr', '/etc', '/data', '/work', __file__)]\nseen = ''\n" +
		"def check(): return numbers == [os.stat(path).st_dev for path in ('/usr', '/etc', '/data', '/work', __file__)]\n", "ready"},
	"a guard of forks":       {"import os\nforked = []\nos.register_at_fork(after_in_child=lambda: forked.append(1))\ncheck = lambda: not forked\nseen = ''\n", "ready"},
	"logging":                {"import logging, os, sys\nseen = ''\ndef check(): return logging._startTime >= os.path.getmtime(sys.argv[0])\n", "ready"},
	"a constant":             {"from datetime import datetime\nseen = datetime.min, datetime.max, 1.0, 1 << 60, float('nan')\nfirst, last = datetime.min, datetime.max\n", "ready"},
	"the time":               {"import time\nstarted, seen = time.time(), ''\n", "cold: strange keeps the time of its import"},
	"the time in an object":  {"import time\nclass Clock:\n    def __init__(self): self.begun = time.monotonic()\nclock, seen = Clock(), ''\n", "cold: strange keeps the time of its import"},
	"the time as a datetime": {"import datetime\nstarted, seen = datetime.datetime.now(), ''\n", "cold: strange keeps the time of its import"},
	"the time in ns":         {"import time\nstarted, seen = time.perf_counter_ns(), ''\n", "cold: strange keeps the time of its import"},
	"the script":             {"import sys\nseen = open(sys.argv[0]).read()\n", "cold: an import reads the script, which is empty before its turn"},
	"the stack":              {"import traceback\nseen = traceback.format_stack()[0]\n", "cold: an import reads the script, which is empty before its turn"},
	"a name in the script":   {"import __main__\n__main__.injected = seen = 'injected'\n", "cold: an import sets injected in the script"},
	"standard output":        {"import os\ncopy, seen = os.dup(1), ''\ndef check(): return os.write(copy, b'by the copy\\n')\n", coldKept},
	"files before it prints": {"import os, tempfile\nos.makedirs('made/below', exist_ok=True)\nopen('made/below/file', 'a').write('x')\nopen('/tmp/file', 'a').write('x')\n" +
		"seen = os.path.getsize('made/below/file'), sorted(os.listdir('/tmp'))\nprint('said')\n", "cold: an import printed something"},
	"a path before others": {"import sys\nsys.path.insert(0, '/data')\nseen = sys.path[:2]\n", "cold: an import changed the beginning of sys.path"},
}

// TestStartsOfModules compares scripts whose module keeps what it sees when it is imported, with prepared and cold starts.
func TestStartsOfModules(t *testing.T) {
	h := newHarness(t)
	h.write("stage/staged.txt", "staged", 0o644)
	h.write("data/one", "1", 0o644)
	for name, module := range startModules {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			dir := strings.ReplaceAll(name, " ", "-")
			venv := h.venv("/usr/bin/python3", h.path(dir))
			h.writeModule(venv, module.text)
			script := h.write("of-"+dir+"/says.py", "import strange\nprint(strange.seen, getattr(strange, 'check', bool)())\nprint(sorted(globals()))\n", 0o644)
			line := manifest{"runtime": venv, "script": script, "stage": h.path("stage"), "data": h.path("data"), "args": []string{"a", "b"}}
			f := h.feed()
			defer f.close()
			cold := h.situationOf(f.run(maps.Clone(line).and("preload", "none")))
			ready := h.situationOf(f.run(line))
			ready.same(t, name, cold)
			if ready.start != module.start || !strings.HasPrefix(cold.ended, "complete") {
				t.Errorf("the start was %q, want %q; %s\n%s", ready.start, module.start, cold.ended, cold.stderr)
			}
		})
	}
}

// TestStarts runs each script of testdata/starts three times cold and three times ready, on the host's Python. The
// outputs are the same, except that random values of a script whose name begins with draws differ each time.
func TestStarts(t *testing.T) { newHarness(t).compareStarts("testdata/starts/*.py", nil) }

// TestStartsOfLibraries is the same for scripts with libraries that scripts/setup starts installs.
func TestStartsOfLibraries(t *testing.T) {
	if !inSoak() {
		t.Skip("scripts/soak has it")
	}
	newHarness(t).compareStarts("testdata/starts/libraries/*.py", nil)
}

// compareStarts compares the scripts of a pattern, with the fields of more.
func (h *harness) compareStarts(pattern string, more manifest) {
	h.t.Helper()
	found := matches(pattern)
	if len(found) < 12 {
		h.t.Fatalf("%s has %d scripts", pattern, len(found))
	}
	for _, path := range found {
		name := strings.TrimSuffix(filepath.Base(path), ".py")
		h.t.Run(name, func(t *testing.T) { h.in(t).compareStart(name, path, more) })
	}
}

// compareStart runs a script in both ways. Its first line may give the reason why it starts cold.
func (h *harness) compareStart(name, path string, more manifest) {
	h.t.Helper()
	first, _, _ := strings.Cut(readFile(h.t, path), "\n")
	want := "ready"
	if why, is := strings.CutPrefix(first, "# cold: "); is {
		want = "cold: " + why
	}
	f := h.feed()
	defer f.close()
	script, err := filepath.Abs(path)
	if err != nil {
		h.t.Fatal(err)
	}
	line := manifest{"script": script}
	maps.Copy(line, more)
	var all []situation
	for range 3 {
		cold, ready := h.situationOf(f.run(maps.Clone(line).and("preload", "none"))), h.situationOf(f.run(line))
		if cold.start != "cold: --preload none" || ready.start != want {
			h.t.Errorf("the starts were %q and %q, want %q", cold.start, ready.start, want)
		}
		all = append(all, cold, ready)
	}
	draws := strings.HasPrefix(name, "draws")
	for i, one := range all {
		if !strings.HasPrefix(one.ended, "complete") || one.stdout == "" {
			h.t.Fatalf("%s: %s\n%s%s", one.start, one.ended, one.stdout, one.stderr)
		}
		for _, other := range all[:i] {
			switch {
			case draws && one.drewAsOther(other):
				h.t.Errorf("two runs, %s and %s, drew the same:\n%s\n%s", other.start, one.start, other.stdout, one.stdout)
			case !draws && one.differs(other):
				h.t.Errorf("%s:\n%s\n%s%s\n%v\n%s:\n%s\n%s%s\n%v", other.start, other.ended, other.stdout, other.stderr, other.outputs,
					one.start, one.ended, one.stdout, one.stderr, one.outputs)
			}
		}
	}
}

// drewAsOther reports whether a line of the random values of two runs is the same.
func (s situation) drewAsOther(other situation) bool {
	theirs := strings.Split(other.stdout, "\n")
	for i, line := range strings.Split(s.stdout, "\n") {
		if line != "" && i < len(theirs) && line == theirs[i] {
			return true
		}
	}
	return false
}
