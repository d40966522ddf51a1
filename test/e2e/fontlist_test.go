package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// listsFonts prints which lists of fonts exist before matplotlib is imported, and how many fonts it knows then; last it
// damages the list.
const listsFonts = `
import hashlib, os, pathlib
cache = pathlib.Path(os.environ["MPLCONFIGDIR"])
def lists():
    return [hashlib.sha256(f.read_bytes()).hexdigest() for f in cache.glob("fontlist-*.json")]
print(*lists())
import matplotlib.font_manager as fonts
print(len(fonts.fontManager.ttflist) > 0, len(lists()))
for f in cache.glob("fontlist-*.json"):
    f.write_text("spoiled")
`

// TestFontList runs scripts that plot: each has matplotlib's list of fonts before it imports matplotlib, made once by a
// run without a row, which leaves nothing, and not affected by what an earlier run did to its own copy.
func TestFontList(t *testing.T) {
	h := newHarness(t)
	h.write("plot.py", listsFonts, 0o644)
	said := func(flags ...string) []string {
		t.Helper()
		r := h.start(append([]string{"--id", h.newID()}, flags...)...)
		r.expect(t, "complete", "exit", 0)
		lines := strings.Split(h.stdoutOf(r), "\n")
		if len(lines) < 2 || lines[1] != "True 1" {
			t.Errorf("%q: it said %q", flags, lines)
		}
		return lines
	}
	first, second := said("--script", "plot.py"), said("--script", "plot.py")
	if len(first[0]) != 64 || first[0] != second[0] {
		t.Errorf("the lists of two runs are %q and %q", first[0], second[0])
	}
	kept, err := filepath.Glob(filepath.Join(h.root, "fonts", "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%q, %v: one list was to be kept", kept, err)
	}
	data, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(data), "\n")
	if sum := sha256.Sum256([]byte(list)); hex.EncodeToString(sum[:]) != first[0] {
		t.Errorf("the kept list is not the one of the runs")
	}
	// A run with another cache directory makes its own.
	if own := said("--script", "plot.py", "--env", "MPLCONFIGDIR=/work/.cache"); own[0] != "" {
		t.Errorf("in another directory there is the list %q", own[0])
	}
	if left, _ := filepath.Glob(filepath.Join(h.root, "runs", "fonts-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestFontListIsAnnounced: the first run that plots says on a terminal what it waits for, and the second one has nothing to say.
func TestFontListIsAnnounced(t *testing.T) {
	h := newHarness(t)
	h.write("plot.py", "import matplotlib\n", 0o644)
	const said = "making matplotlib's list of fonts"
	for i, times := range []int{1, 0} {
		out := h.onTerminal(h.program, "run", "--id", h.newID(), "--script", "plot.py")
		if n := strings.Count(out.stdout, said); out.code != 0 || n != times {
			t.Errorf("run %d ended with %d and said it %d times, wanted %d:\n%s", i+1, out.code, n, times, out.stdout)
		}
	}
	elsewhere := newHarness(t)
	elsewhere.write("plot.py", "import matplotlib\n", 0o644)
	if out := elsewhere.mustRun("run", "--script", "plot.py"); strings.Contains(out.stderr, said) {
		t.Errorf("a run without a terminal said it: %s", out.stderr)
	}
}

// TestFontListKilled kills scidex-oci while the list is made, by a matplotlib that never is imported: the next command removes
// what is left of that run too.
func TestFontListKilled(t *testing.T) {
	h := newHarness(t)
	venv := h.venv("/usr/bin/python3", h.dir+"/venv")
	site := h.tool(venv+"/bin/python3", "-c", "import site; print(site.getsitepackages()[-1])")
	writeFile(t, site+"/matplotlib.py", "open('/work/importing', 'w').close()\nimport time\ntime.sleep(1000)\n", 0o644)
	h.write("plot.py", "import matplotlib\n", 0o644)
	l := h.launch(h.newID(), "--runtime", venv, "--script", "plot.py")
	var run string
	until(t, hangTimeout, "the list is made", func() bool {
		for _, state := range matches(h.root + "/runs/fonts-*.json") {
			run = strings.TrimSuffix(filepath.Base(state), "@1.json")
		}
		return run != "" && len(matches("/tmp/scidex-analysis-"+run+"/work/importing")) > 0
	})
	all := l.family()
	l.signal(syscall.SIGKILL)
	<-l.ended
	expectGone(t, all, run) // its supervisor holds the ingest directory until its end
	h.mustRun("run", "--", "true")
	if left := leftovers(run, h.root); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
