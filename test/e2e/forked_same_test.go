package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// differing are scripts that say what is not the same in a forked process (docs/warm.md).
var differing = map[string]bool{"parent": true}

// compareForked checks that a forked script does what one does that starts cold, byte for byte.
func (h *harness) compareForked(names []string, more manifest) {
	for _, name := range names {
		h.t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := h.in(t)
			line := manifest{"script": testdata(t, filepath.Join("ready", name+".py")), "args": []string{"one", "", "--three=3"}}
			maps.Copy(line, more)
			f := h.feed()
			defer f.close()
			cold := h.situationOf(f.run(maps.Clone(line).and("preload", "none")))
			forked := h.situationOf(f.untilForked(line))
			if !differing[name] {
				forked.same(t, name, cold)
			}
		})
	}
}

// likeOthers are situations that are forked in scripts/soak alone, with the one of their class that the ordinary tiers fork.
// TestReady has all.
var likeOthers = map[string]string{
	"backend_default":     "backend",
	"encoding_error":      "streams",
	"ends":                "ends_late",
	"ends_with_a_library": "ends_in_c",
	"environment":         "environment_order",
	"environment_first":   "environment_order",
	"exit_code":           "exit_status",
	"exit_closed":         "exit_late",
	"exit_text":           "exit_status",
	"exit_without_name":   "exit_status",
	"files_left":          "unclosed",
	"generators":          "generators_unseeded",
	"generators_seeded":   "generators_unseeded",
	"killed":              "aborted",
	"logs":                "logs_left",
	"signals":             "signals_taken",
	"subprocesses":        "children_left",
	"threads":             "threads_pools",
	"unbuffered":          "streams",
	"warning_as_error":    "warning_in_main",
	"warning_ignored":     "warning_in_main",
}

// forkable are the scripts that a template can be made for.
func forkable(t *testing.T) (names []string) {
	t.Helper()
	for _, name := range scripts(t) {
		if wantedStart(name, "forked") == "forked" && name != "syntax" {
			names = append(names, name)
		}
	}
	return names
}

// toFork are the forkable scripts, and outside of scripts/soak one of those that are alike.
func toFork(t *testing.T) []string {
	t.Helper()
	all := forkable(t)
	for name, other := range likeOthers {
		if !slices.Contains(all, name) || !slices.Contains(all, other) || likeOthers[other] != "" {
			t.Errorf("%s is not forked, as %s is", name, other)
		}
	}
	if inSoak() {
		return all
	}
	return slices.DeleteFunc(all, func(name string) bool { return likeOthers[name] != "" })
}

// TestForkedSame compares scripts that were forked from a template with the same that start cold, on the host's Python.
func TestForkedSame(t *testing.T) {
	newHarness(t).compareForked(toFork(t), nil)
}

// TestForkedThreads has libraries of linear algebra compute with two threads.
func TestForkedThreads(t *testing.T) {
	newHarness(t).compareForked([]string{"linear_algebra"}, manifest{"cpus": 2})
}

// drawing draws from every generator that starts with a number of the system.
const drawing = `import multiprocessing, random, numpy, scipy.stats, ssl, tempfile, uuid, secrets
for number in (
    random.random(), random.Random().random(), numpy.random.rand(), numpy.random.default_rng().random(), scipy.stats.norm.rvs(),
    numpy.random.mtrand._rand._bit_generator._seed_seq.entropy, numpy.random.RandomState().rand(), uuid.uuid4(), secrets.token_hex(),
    ssl.RAND_bytes(8), bytes(multiprocessing.current_process().authkey), tempfile.mkdtemp(),
):
    print(number)
`

// TestForkedDraws has two analyses of one template draw: no number is drawn twice.
func TestForkedDraws(t *testing.T) {
	h := newHarness(t)
	line := manifest{"script": h.write("draws.py", drawing, 0o644)}
	f := h.feed()
	defer f.close()
	seen := map[string]bool{}
	for range 3 {
		drawn := strings.Split(strings.TrimSpace(h.stdoutOf(f.untilForked(line))), "\n")
		if len(drawn) < 12 {
			t.Fatalf("drawn: %q", drawn)
		}
		for _, number := range drawn {
			if seen[number] {
				t.Errorf("%s was drawn twice", number)
			}
			seen[number] = true
		}
	}
}

// TestForkedLines changes what differs between lines: arguments and labels fork from one template, and each run has its own.
func TestForkedLines(t *testing.T) {
	h := newHarness(t)
	script := h.write("says.py", "import json, os, sys\nprint(json.dumps(sys.argv[1:]), os.environ.get('MINE'), os.environ['SCIDEX_ANALYSIS_ID'])\n", 0o644)
	line := manifest{"script": script}
	f := h.feed()
	defer f.close()
	f.untilForked(line)
	long := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		line        manifest
		start, says string
	}{
		{manifest{"args": []string{"é", "", "two words"}}, "forked", `["\u00e9", "", "two words"] None `},
		{manifest{"labels": map[string]string{"a": "b"}}, "forked", "[] None "},
		{manifest{"args": []string{long}}, "forked", `["` + long + `"] None `},
		{manifest{"args": []string{long, long}}, "cold: arguments and environment are more than 128 KiB", `["` + long + `", "` + long + `"] None `},
		{manifest{"args": []string{"after"}}, "forked", `["after"] None `},
		{manifest{"env": map[string]string{"MINE": "1"}}, "ready", "[] 1 "},
	} {
		m := maps.Clone(line)
		maps.Copy(m, c.line)
		r := f.run(m)
		if s := h.situationOf(r); s.start != c.start || s.stdout != c.says+r.ID+"\n" {
			t.Errorf("%.100v: %s, it said %.200q %q", c.line, s.start, s.stdout, s.stderr)
		}
	}
}

// TestForkedChanges changes the script, and then a module: what has been read is never run again.
func TestForkedChanges(t *testing.T) {
	h := newHarness(t)
	venv := h.moduleIn("value = 1\n")
	said := func(r result) string { return h.situationOf(r).start + " " + h.stdoutOf(r) }
	write := func(n int) manifest {
		return manifest{"runtime": venv, "script": h.write("says.py", fmt.Sprintf("import strange\nprint(%d, strange.value)\n", n), 0o644)}
	}
	f := h.feed()
	defer f.close()
	first := h.stdoutOf(f.untilForked(write(1)))
	second := f.run(write(2))
	again := said(f.run(write(1)))
	if first != "1 1\n" || h.stdoutOf(second) != "2 1\n" || second.Start.Kind == "forked" || again != "forked 1 1\n" {
		t.Errorf("%q; with another script %q; with the first one %q", first, said(second), again)
	}
	h.writeModule(venv, "value = 22\n")
	if changed := f.run(write(1)); h.stdoutOf(changed) != "1 22\n" || !strings.Contains(changed.Start.Reason, "has changed since the template read it") {
		t.Errorf("with another module %q", said(changed))
	}
	if after := said(f.run(write(1))); after != "ready 1 22\n" {
		t.Errorf("then %q", after)
	}
}

// TestForkedNever has modules that do what a fork would not have: their scripts are ready, and never forked.
func TestForkedNever(t *testing.T) {
	for name, text := range map[string]string{
		"descriptor": "file = open('/etc/passwd')\n",
		"file":       "open('/work/made', 'w').close()\n",
		"process":    "import subprocess\nprocess = subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n",
		"thread":     "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n",
		"umask":      "import os\nos.umask(0)\n",
		"directory":  "import os\nos.chdir('/')\n",
		"no ctypes":  "import sys\nsys.modules['_ctypes'] = None\n",
		"processors": "import os\nos.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			line := manifest{"runtime": h.moduleIn(text), "script": h.write("goes.py", "import strange\nprint('goes on')\n", 0o644)}
			f := h.feed()
			defer f.close()
			for range 6 {
				if s := h.situationOf(f.run(line)); s.start != "ready" || s.stdout != "goes on\n" {
					t.Errorf("%s, it said %q%q", s.start, s.stdout, s.stderr)
				}
				time.Sleep(300 * time.Millisecond)
			}
		})
	}
}

// TestForkedModule has a module that sets variables when it is imported, and keeps a function of the script to the end.
func TestForkedModule(t *testing.T) {
	h := newHarness(t)
	venv := h.moduleIn("import os\nos.environ['SET_BY_IMPORT'] = '1'\ndel os.environ['LOGNAME']\ncalled = []\n")
	script := h.write("says.py", `import strange
import os

class Ends:
    def __del__(self):
        print("del")

one, table = Ends(), open("table", "w")
table.write("not closed")
strange.called.append(lambda: one)
print(sorted(set(os.environ.items()) - {("SCIDEX_ANALYSIS_ID", os.environ["SCIDEX_ANALYSIS_ID"])}))
os.system("env | grep -v SCIDEX_ANALYSIS_ID | sort")
`, 0o644)
	line := manifest{"script": script, "runtime": venv}
	f := h.feed()
	defer f.close()
	cold := h.situationOf(f.run(maps.Clone(line).and("preload", "none")))
	h.situationOf(f.untilForked(line)).same(t, "a module", cold)
	if !strings.Contains(cold.stdout, "SET_BY_IMPORT=1\n") || !strings.HasSuffix(cold.stdout, "del\n") {
		t.Errorf("cold it said %q", cold.stdout)
	}
}

// TestForkedEnding has a module whose C library does something at the end. In a fork it is left out, unless the script leaves a file open:
// that may have what the library has not written.
func TestForkedEnding(t *testing.T) {
	h := newHarness(t)
	venv := h.moduleIn("import ctypes\nat_exit, abort = (ctypes.CDLL(None)[name] for name in ('on_exit', 'abort'))\nat_exit(abort, None)\n")
	const aborted = 128 + int(syscall.SIGABRT)
	for text, status := range map[string]int{
		"print('done')":                        0,
		"raise SystemExit(3)":                  3,
		"out = open('out.txt', 'w')":           aborted,
		"strange.at_exit(strange.abort, None)": aborted,
	} {
		line := manifest{"runtime": venv, "script": h.write("ends.py", "import strange\n"+text+"\n", 0o644)}
		f := h.feed()
		cold, forked := f.run(maps.Clone(line).and("preload", "none")), f.untilForked(line)
		if cold.ExitCode != aborted || forked.ExitCode != status {
			t.Errorf("%s: exit status %d, and %d in a fork", text, cold.ExitCode, forked.ExitCode)
		}
		f.close()
	}
}
