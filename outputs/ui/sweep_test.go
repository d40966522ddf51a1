package ui

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// swept is a home with runs of a sweep, each with a table and a figure.
func swept(t *testing.T, runs int) *home {
	t.Helper()
	h := newHome(t)
	var picture bytes.Buffer
	must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))))
	for i := range runs {
		rate := []string{"0.1", "0.01"}[i%2]
		run := h.begin(t, fmt.Sprintf("s1-%03d", i), at(1), map[string]string{"sweep": "s1", "seed": fmt.Sprint(i / 2), "lr": rate})
		h.end(t, run, outcome.Complete, [2]string{"metrics.csv", fmt.Sprintf("step,loss,name\n1,9,a\n2,0.%d0000000001,b\n", i+1)}, [2]string{"plot.png", picture.String()})
	}
	return h
}

func sweepPageOf(t *testing.T, s *Server, query string) (answer, string) {
	t.Helper()
	got := page(t, s, "sweep?"+query)
	root, err := html.Parse(strings.NewReader(got.body))
	must(t, err)
	var text strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "style" {
			text.WriteString(n.Data + " ")
		}
	}
	return got, strings.Join(strings.Fields(text.String()), " ")
}

// TestSweep: a label's page has the parameters that differ, a plot of a metric of the last row, and a figure of each run.
func TestSweep(t *testing.T) {
	h := swept(t, 6)
	h.end(t, h.begin(t, "s1-failed", at(1), map[string]string{"sweep": "s1", "seed": "9", "lr": "0.1"}), outcome.Failed)
	h.end(t, h.begin(t, "other", at(1), map[string]string{"sweep": "s2"}), outcome.Complete)
	s := started(t, h)
	got, text := sweepPageOf(t, s, "label=sweep%3Ds1&x=seed&y=loss&by=lr")
	if got.status != http.StatusOK {
		t.Fatal(got)
	}
	for want, count := range map[string]int{`class="mark" d="`: 8, "<img ": 6, `<th scope="row"`: 7, `class="mean"`: 2} {
		if n := strings.Count(got.body, want); n != count {
			t.Errorf("%d of %q, want %d", n, want, count)
		}
	}
	for _, want := range []string{"7 runs: 6 complete, 1 failed.", "loss by seed. A line goes through the means.", "s1-005@1 0.01 2 0.6 complete", "s1-failed@1 0.1 9 failed", "lr=0.01, seed=0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
	for _, absent := range []string{"other@1", "sweep=s2"} {
		if strings.Contains(text, absent) {
			t.Errorf("it has %q", absent)
		}
	}
	if _, text = sweepPageOf(t, s, "label=sweep%3Ds1&x=nothing&table=none&image=none&y=&by=seed"); !strings.Contains(text, "step by lr.") {
		t.Errorf("%q", text)
	}
	for _, x := range []string{"", "lr"} { // seed has more values, and repeats
		if _, text = sweepPageOf(t, s, "label=sweep%3Ds1&y=loss&x="+x); !strings.Contains(text, "loss by lr.") {
			t.Errorf("x=%s: %q", x, text)
		}
	}
	for query, status := range map[string]int{"label=sweep%3Dnone": 200, "label=": 400, "label=x": 400, "": 400, "label=a%3Db&z=1": 400} {
		if got := page(t, s, "sweep?"+query); got.status != status {
			t.Errorf("%s: %s", query, got)
		}
	}
	if list := page(t, s, "?label=sweep%3Ds1"); !strings.Contains(list.body, `<a href="sweep?label=sweep%3Ds1">`) {
		t.Error("the list does not lead to it")
	}
	if run := page(t, s, linkTo(catalog.Key{ID: "s1-000", Attempt: 1})); !strings.Contains(run.body, `<a href="sweep?label=sweep%3Ds1">`) {
		t.Error("the page of a run does not lead to it")
	}
}

// TestSweepBounds: a large sweep has a page of bounded size, which says what it leaves out.
func TestSweepBounds(t *testing.T) {
	h := swept(t, sweepFigures+7)
	for i := range sweepRuns {
		h.begin(t, fmt.Sprint("going-", i), at(0), map[string]string{"sweep": "s1", "seed": "9"})
	}
	got, text := sweepPageOf(t, started(t, h), "label=sweep%3Ds1&x=seed&y=loss")
	if n := strings.Count(got.body, "<img "); n != sweepFigures || len(got.body) > 2<<20 {
		t.Errorf("%d figures in %d bytes", n, len(got.body))
	}
	for _, want := range []string{fmt.Sprintf("The newest %d runs", sweepRuns), fmt.Sprintf("The first %d are shown; there are 7 more.", sweepFigures)} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestHostileSweep: labels, names of outputs and columns, and their contents, are text.
func TestHostileSweep(t *testing.T) {
	h := newHome(t)
	const markup = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b"
	for i, table := range []string{`[{"` + `\"><script>alert(1)</script>\u202e` + `":1.5,"y":1e400,"z":"nan"}]`, `{"y":2}`, `[[[`, `{"y":`, ``, `7`, `{"a":` + strings.Repeat(`[`, 20_000), strings.Repeat(" ", 2<<20)} {
		run := h.begin(t, fmt.Sprint("r", i), at(i), map[string]string{"k": "v", markup: fmt.Sprint(markup, i), "x": fmt.Sprint(i, markup)})
		h.end(t, run, outcome.Complete, [2]string{"a" + markup + ".json", table}, [2]string{"b" + markup + ".svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`}, [2]string{"c.png", "<script>alert(1)</script>"})
	}
	s := started(t, h)
	for _, more := range []string{"", "&x=x&by=" + url.QueryEscape(markup), "&y=y&image=c.png", "&x=" + url.QueryEscape(markup)} {
		got, text := sweepPageOf(t, s, "label=k%3Dv"+more)
		if got.status != http.StatusOK || strings.ContainsAny(text, "\u202e\x1b") || !strings.Contains(text, "Not shown: its contents are no PNG") && !strings.Contains(text, "Not shown: it has a script") {
			t.Errorf("%s: %s", more, text)
		}
		root, err := html.Parse(strings.NewReader(got.body))
		must(t, err)
		for n := range root.Descendants() {
			if n.Type == html.ElementNode && (n.Data == "script" || n.Data == "img") {
				t.Errorf("%s: it has <%s>", more, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					t.Errorf("%s: it has %s=%q", more, a.Key, a.Val)
				}
			}
		}
	}
}

// TestWidestParameter: runs are shown against the parameter with the most values, of which numbers come first and seeds last.
func TestWidestParameter(t *testing.T) {
	for want, rows := range map[string][][]string{ // of the parameters mode, lr, name and seed
		"lr":   {{"1", "0.1", "x", "1"}, {"2", "0.2", "y", "2"}, {"1", "0.3", "z", "3"}, {"1", "0.3", "w", "4"}, {"1", "", "v", "5"}},
		"name": {{"a", "l", "x", "1"}, {"b", "l", "y", "2"}, {"b", "m", "z", "3"}},
	} {
		p := sweepPage{Parameters: []string{"mode", "lr", "name", "seed"}}
		for _, values := range rows {
			p.Rows = append(p.Rows, sweepRow{Values: values})
		}
		if got := p.widest(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (&sweepPage{Parameters: []string{"seed"}, Rows: []sweepRow{{Values: []string{"1"}}}}).widest(); got != "seed" {
		t.Errorf("the only one: %q", got)
	}
	if got := (&sweepPage{}).widest(); got != "" {
		t.Errorf("of none: %q", got)
	}
}
