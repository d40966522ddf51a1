package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

// plots says which lists of fonts are there before matplotlib is imported, and whether it knows fonts then.
const plots = `
import os, pathlib
cache = pathlib.Path(os.environ["MPLCONFIGDIR"])
def lists():
    return len(list(cache.glob("fontlist-*.json")))
print(lists())
import matplotlib.font_manager as fonts
print(len(fonts.fontManager.ttflist) > 0, lists())
`

// TestPlotStartsAtOnce: nothing else runs before a script that plots: matplotlib makes its list of fonts in the run.
func TestPlotStartsAtOnce(t *testing.T) {
	h := newHarness(t)
	h.write("plot.py", plots, 0o644)
	for range 2 {
		r := h.start("--id", h.newID(), "--script", "plot.py")
		r.expect(t, "complete", "exit", 0)
		if said := strings.Join(strings.Fields(h.stdoutOf(r)), " "); said != "0 True 1" {
			t.Errorf("it said %q", said)
		}
	}
	if kept, _ := filepath.Glob(filepath.Join(h.root, "fonts", "*")); len(kept) > 0 {
		t.Errorf("another run has made %q", kept)
	}
}
