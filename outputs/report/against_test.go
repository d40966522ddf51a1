package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func compared(t *testing.T, a, b result.Result, blobs Blobs) map[string]string {
	t.Helper()
	var page bytes.Buffer
	must(t, Compare(&page, a, b, blobs))
	root := inspect(t, page.Bytes())
	parts := map[string]string{}
	for _, id := range []string{"files", "use", "asked", "around"} {
		parts[id] = content(section(t, root, id))
	}
	return parts
}

func TestCompare(t *testing.T) {
	s := newShelf(t)
	a, b := ordinary(t, s), ordinary(t, s)
	b.Attempt, b.State, b.Reason, b.ExitCode, b.Usage.WallMS = 3, "complete", "exit", 0, 1234
	b.Analysis = []byte(`{"script":"/home/me/fit.py","args":["--order","3"],"data":"/data/penguins","docs":"none","env":{"A":"b c"},"secrets":["TOKEN"],"memory":1073741824}`)
	b.Script = &result.Script{Name: "/analysis/fit.py", SHA256: s.put(t, "import numpy\n\nprint('<b>bye')\n")}
	b.Sandbox.Rootfs = "scientific"
	b.Outputs = []result.Output{a.Outputs[0], s.output(t, "new.txt", "text/plain", "x"), s.output(t, "t.csv", "text/csv", "name,x\n\"a, b\",1.6\n"), a.Outputs[3]}
	parts := compared(t, a, b, s)
	for part, wants := range map[string][]string{
		"files":  {"2 the same, 1 changed, 1 only in the first, 1 only in the second.", "the script /analysis/fit.py line 3", "print('hello')", "print('<b>bye')", "t.csv line 2", `"a, b",1.5`, `"a, b",1.6`},
		"use":    {"out of memory", "complete: exit 0", "1.23s", "9s"},
		"asked":  {`["--order","2 3"]`, `["--order","3"]`, "script, sha256", "1GiB"},
		"around": {"host", "scientific"},
	} {
		for _, want := range wants {
			if !strings.Contains(parts[part], want) {
				t.Errorf("%s has no %q: %q", part, want, parts[part])
			}
		}
	}
	if strings.Contains(parts["asked"], "/data/penguins") {
		t.Errorf("what is the same is among what differs: %q", parts["asked"])
	}
}

func TestCompareWithItself(t *testing.T) {
	s := newShelf(t)
	run := ordinary(t, s)
	parts := compared(t, run, run, s)
	for part, want := range map[string]string{"files": "4 the same, 0 changed, 0 only", "asked": "There is no difference.", "around": "There is no difference."} {
		if !strings.Contains(parts[part], want) {
			t.Errorf("%s has no %q: %q", part, want, parts[part])
		}
	}
}

// TestCompareHostile: the page that compares two runs is protected like the page of one run, and says which contents are missing.
func TestCompareHostile(t *testing.T) {
	s := newShelf(t)
	run := hostileRun(t, s)
	var a, b []hostile
	for _, h := range hostiles(t) {
		if len(h.content) < 1<<20 {
			a, b = append(a, h), append(b, hostile{h.name, h.media, h.content + "</code>\u202e<script>alert(1)</script>", ""})
		}
	}
	first, second := withOutputs(t, run, s, a...), withOutputs(t, run, s, b...)
	second.Outputs[len(b)-1].SHA256 = strings.Repeat("0", 64)
	second.Script = &result.Script{Name: "<script>", SHA256: strings.Repeat("1", 64)}
	if files := compared(t, first, second, s)["files"]; !strings.Contains(files, "not in the blob store") {
		t.Error(files)
	}
}

func TestFirstDifference(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want difference
	}{
		"a line":     {"a\nb\nc\n", "a\nx\nc\n", difference{Line: 2, A: "b", B: "x"}},
		"longer":     {"a\n", "a\nb\n", difference{Line: 2, A: "(no such line)", B: "b"}},
		"no newline": {"a", "a\n", difference{Line: 1, A: "a", B: "a", Why: "Only one of them has a newline at its end."}},
		"empty":      {"", "a", difference{Line: 1, A: "(no such line)", B: "a"}},
		"same":       {"a\n", "a\n", difference{Line: 2, Why: "They are the same in the first 1MiB."}},
		"long":       {strings.Repeat("x", 500), "y", difference{Line: 1, A: strings.Repeat("x", 199) + "…", B: "y"}},
	} {
		var got difference
		got.find([]byte(c.a), []byte(c.b))
		if got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
