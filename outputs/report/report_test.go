package report

import (
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html/atom"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func picture(t testing.TB, width, height int) string {
	t.Helper()
	var b strings.Builder
	must(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))))
	return b.String()
}

const drawn = `<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>`

// ordinary is a run as most are, of an analysis that failed in the end.
func ordinary(t testing.TB, s shelf) result.Result {
	t.Helper()
	created := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	started, finished := created.Add(80*time.Millisecond), created.Add(10*time.Second)
	request, err := json.Marshal(map[string]any{"script": "/home/me/fit.py", "args": []string{"--order", "2 3"}, "data": "/data/penguins", "docs": "none", "env": map[string]string{"A": "b c"}, "secrets": []string{"TOKEN"}})
	must(t, err)
	return result.Result{
		ID: "fit", Attempt: 2, Outcome: outcome.Outcome{State: "failed", Reason: "out_of_memory", Message: "the kernel killed the analysis for lack of memory", ExitCode: 137},
		CreatedAt: &created, StartedAt: &started, FinishedAt: &finished,
		Report: result.Report{
			Usage:    result.Usage{WallMS: 9000, CPUMS: 4500, MemoryPeakBytes: 64 << 20, PidsPeak: 3, WorkBytes: 4096, WorkFiles: 2},
			Evidence: result.Evidence{OOMKills: 1, OOMLimit: &result.OOMLimit{By: "cgroup", Bytes: 64 << 20}},
			Series:   &result.Series{Source: "cgroup", TMS: []int64{0, 3000, 6000, 9000}, MemoryBytes: []int64{1 << 20, 32 << 20, 64 << 20, 0}, CPUMS: []int64{0, 1000, 2500, 4500}},
			Enforced: []result.Enforcement{
				{Limit: "memory", Asked: "67108864", Effective: "67108864", By: "cgroup"},
				{Limit: "cpus", Asked: "1", Effective: "", By: "none"},
				{Limit: "timeout", Asked: "30m0s", Effective: "30m0s", By: "watchdog"},
			},
			Sandbox: result.Sandbox{Rootfs: "host", Network: "none", Seccomp: "enforced", UIDOnHost: 100001, IDs: "range", Audit: "on"},
			Logs:    result.Logs{Stdout: result.Log{Bytes: 6, SHA256: s.put(t, "hello\n")}, Stderr: result.Log{}},
			Script:  &result.Script{Name: "/analysis/fit.py", SHA256: s.put(t, "import numpy\n\nprint('hello')\n")},
		},
		Outputs:       []result.Output{s.output(t, "a/plot.png", "image/png", picture(t, 30, 20)), s.output(t, "b.svg", "image/svg+xml", drawn), s.output(t, "t.csv", "text/csv", "name,x\n\"a, b\",1.5\n"), s.output(t, "n.md", "text/markdown", "# Notes\n")},
		Rejected:      []result.Rejected{{Path: "link", Reason: "symlink", Detail: "-> /etc/shadow"}},
		OutputsTotal:  4,
		RejectedTotal: 1,
		Audit:         []result.AuditEvent{{At: started, Kind: "connect", Address: "tcp 192.0.2.1:5432", Severity: "high", Blocked: true, Count: 3}},
		AuditTotal:    1,
		Analysis:      request,
		ToolVersion:   "1.0", Host: "box",
	}
}

func TestPage(t *testing.T) {
	s := newShelf(t)
	page := rendered(t, ordinary(t, s), s)
	root := inspect(t, page)
	if len(page) > 60<<10 {
		t.Errorf("the page of a small run has %d bytes", len(page))
	}
	for part, wants := range map[string][]string{
		"results": {"a/plot.png", "b.svg", "t.csv", "a, b", "1.5", "# Notes"},
		"asked":   {"/home/me/fit.py --order '2 3'", "/data/penguins", "'A=b c'", "TOKEN", "host", "100001 on the host (range)"},
		"ended":   {"out of memory", "137", "killed for lack of memory: 1 time", "own memory that ran out: 64MiB", "2026-11-22 10:00:00 UTC"},
		"use":     {"64MiB", "100 %", "the kernel: control group", "nothing", "30m", "9s", "harvest, up to the commit 920ms", "The limit is 64MiB. It is the dashed line."},
		"logs":    {"hello", "Nothing was written."},
		"script":  {"import numpy", "print('hello')"},
		"files":   {"image/png", "link", "-> /etc/shadow"},
		"audit":   {"tcp 192.0.2.1:5432", "high", "refused"},
	} {
		text := content(section(t, root, part))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %q: %q", part, want, text)
			}
		}
	}
	if got := content(all(root, atom.H1)[0]); got != "fit.py" {
		t.Errorf("the title is %q", got)
	}
	if n := len(all(root, atom.Img)); n != 2 {
		t.Errorf("%d images, want 2", n)
	}
	if n := len(all(section(t, root, "script"), atom.Li)); n != 3 {
		t.Errorf("%d lines of the script, want 3", n)
	}
}

// TestInputs: what an analysis could read is shown with its digests, and what is not known of it.
func TestInputs(t *testing.T) {
	run := ordinary(t, newShelf(t))
	listed, whole := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	run.Inputs = []result.Input{
		{Flag: "--data", Source: "/data/<img src=x>", Destination: "/data", Digested: "listing", SHA256: &listed, Files: 7, Bytes: 2048, Changed: true},
		{Flag: "--input", Source: "/srv/x.csv", Destination: "/inputs/x.csv", Digested: "content", SHA256: &whole, Files: 1},
		{Flag: "--rootfs", Source: "host", Destination: "/usr", Digested: "none", Message: "not <b>asked</b> for"},
	}
	text := content(section(t, inspect(t, rendered(t, run, newShelf(t))), "asked"))
	for _, want := range []string{
		"/data/<img src=x>", "names, sizes and change times", "which may have read either", listed, "2KiB",
		"/inputs/x.csv", "all bytes", whole, "nothing", "not <b>asked</b> for",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// TestPageOfUnknownRun: a run may have ended before anything is known of it.
func TestPageOfUnknownRun(t *testing.T) {
	var run result.Result
	must(t, json.Unmarshal([]byte(`{"v":1,"id":"x","attempt":1,"state":"lost","reason":"supervisor_lost","exit_code":125,"outputs":[],"rejected":[],"enforced":[],"analysis":null,"future":[1]}`), &run))
	root := inspect(t, rendered(t, run, newShelf(t)))
	for part, want := range map[string]string{"use": "no samples are recorded", "files": "There are none.", "ended": "supervisor lost"} {
		if text := content(section(t, root, part)); !strings.Contains(text, want) {
			t.Errorf("%s has no %q: %q", part, want, text)
		}
	}
	if page := string(rendered(t, run, newShelf(t))); strings.Contains(page, `id="results`) || strings.Contains(page, "#results") {
		t.Error("there is a heading with nothing below it")
	}
	for analysis, want := range map[string]string{
		`null`: "x@1", `{"script":"/tmp/scidex-content-a1/analysis.py"}`: "x@1", `{"script":"/srv/fit.py"}`: "fit.py", `{"command":["echo","<b>"]}`: "echo '<b>'", `{"command":["` + strings.Repeat("a", 99) + `"]}`: strings.Repeat("a", titleMax-1) + "…",
	} {
		run.Analysis = json.RawMessage(analysis)
		if got := content(all(inspect(t, rendered(t, run, newShelf(t))), atom.H1)[0]); got != want {
			t.Errorf("the title of %s is %q", analysis, got)
		}
	}
}

// TestCurvesAreOfSamples: if too few are recorded there is no curve, and the page says so.
func TestCurvesAreOfSamples(t *testing.T) {
	run := ordinary(t, newShelf(t))
	for name, s := range map[string]*result.Series{
		"none": nil, "few": {TMS: []int64{0, 1}, MemoryBytes: []int64{1, 1}, CPUMS: []int64{0, 1}},
		"uneven": {TMS: []int64{0, 1, 2, 3}, MemoryBytes: []int64{1}, CPUMS: []int64{0, 1, 2, 3}},
	} {
		run.Series = s
		if curves := newCurves(run); len(curves) != 0 {
			t.Errorf("%s: %d curves", name, len(curves))
		}
	}
	run.Series = &result.Series{TMS: []int64{0, 0, 0, 0}, MemoryBytes: []int64{0, 0, 0, 0}, CPUMS: []int64{0, 0, 0, 0}}
	for _, c := range newCurves(run) {
		if c.Line != "" || c.Note != "Nothing was measured." {
			t.Errorf("%+v", c)
		}
	}
}

// TestMissingBlobs: a missing or damaged part is named in its place.
func TestMissingBlobs(t *testing.T) {
	s := newShelf(t)
	run := ordinary(t, s)
	for i, o := range run.Outputs {
		path, err := s.store.Path(o.SHA256)
		must(t, err)
		if i%2 == 0 {
			must(t, os.Remove(path))
			continue
		}
		must(t, os.Chmod(path, 0o600))
		must(t, os.WriteFile(path, []byte("<svg>other"), 0o600))
	}
	for _, digest := range []string{run.Logs.Stdout.SHA256, run.Script.SHA256} {
		path, err := s.store.Path(digest)
		must(t, err)
		must(t, os.Remove(path))
	}
	root := inspect(t, rendered(t, run, s))
	results := content(section(t, root, "results"))
	if n := strings.Count(results, "not in the blob store"); n != 2 {
		t.Errorf("%d outputs are told as missing, want 2: %q", n, results)
	}
	if n := strings.Count(results, "corrupt"); n != 2 {
		t.Errorf("%d outputs are told as damaged, want 2: %q", n, results)
	}
	for _, part := range []string{"logs", "script"} {
		if text := content(section(t, root, part)); !strings.Contains(text, "not in the blob store") {
			t.Errorf("%s: %q", part, text)
		}
	}
}

func TestRemovedOutputs(t *testing.T) {
	s := newShelf(t)
	run := ordinary(t, s)
	at := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	run.OutputsRemovedAt = &at
	root := inspect(t, rendered(t, run, s))
	if text := content(section(t, root, "results")); !strings.Contains(text, "removed by retention, at 2027-01-01") || len(all(root, atom.Img)) != 0 {
		t.Errorf("%q", text)
	}
}

// TestManyOutputs: a list is bounded and says how many entries it leaves out.
func TestManyOutputs(t *testing.T) {
	s := newShelf(t)
	run := ordinary(t, s)
	o := s.output(t, "x.csv", "text/csv", "a\n1\n")
	run.Outputs, run.OutputsTotal = nil, 50_000
	for range 10_000 {
		run.Outputs = append(run.Outputs, o)
	}
	page := rendered(t, run, s)
	root := inspect(t, page)
	if text := content(section(t, root, "files")); !strings.Contains(text, "And 49800 more") {
		t.Error(text[:min(len(text), 400)])
	}
	if text := content(section(t, root, "results")); !strings.Contains(text, "there are 9992 more") {
		t.Error(text)
	}
	if len(page) > 200<<10 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

// full has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteFails(t *testing.T) {
	s := newShelf(t)
	if err := Write(full{}, ordinary(t, s), s); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("got %v", err)
	}
}

// somewhere has an address for every output.
type somewhere struct{ none }

func (somewhere) Output(o result.Output) string { return "/" + o.Path }

// TestRemovedOutputsHaveNoLink: their contents are gone.
func TestRemovedOutputsHaveNoLink(t *testing.T) {
	run := result.Result{Outputs: []result.Output{{Path: "a"}}, OutputsTotal: 1}
	if rows := outputRows(run, somewhere{}); rows[0].Link != "/a" {
		t.Errorf("the link is %q", rows[0].Link)
	}
	at := time.Now()
	run.OutputsRemovedAt = &at
	if rows := outputRows(run, somewhere{}); rows[0].Link != "" {
		t.Errorf("the link of what was removed is %q", rows[0].Link)
	}
}
