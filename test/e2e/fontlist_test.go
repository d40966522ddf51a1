package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// listsFonts says which lists of fonts are there before matplotlib is imported, and how many fonts it knows then; last it
// spoils the list.
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

// TestFontList runs scripts that plot: each has matplotlib's list of fonts before it imports matplotlib, made once by a run
// of ours, which leaves nothing, and whatever an earlier run did to its own copy.
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
	if alone := said("--script", "plot.py", "--env", "MPLCONFIGDIR=/work/.cache"); alone[0] != "" {
		t.Errorf("in another directory there is the list %q", alone[0])
	}
	if left, _ := filepath.Glob(filepath.Join(h.root, "runs", "fonts-*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
