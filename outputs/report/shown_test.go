package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html/atom"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// TestRounded: digits that do not count are left out, and whole numbers never change.
func TestRounded(t *testing.T) {
	for text, want := range map[string]string{
		"0.30000000000000004": "0.3", "2.00000000000001": "2.0", "41.727920846510294": "41.7279", "-0.00123456789": "-0.00123457", "1.23456789e-10": "1.23457e-10", "0.0000123456789": "1.23457e-05",
		"12345.6789012": "12345.68", "123456789.123456": "123456789.12",
		"1.5": "1.5", "0.250000": "0.250000", "152": "152", "20261126153452": "20261126153452", "1e300": "1e300", "NaN": "NaN", "0x1.8p1": "0x1.8p1", "": "", "1.2.3": "1.2.3",
		"123456.7": "123456.7", "100000.0": "100000.0",
	} {
		if got := rounded(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	var shown table
	shown.read([]byte("id,x\n20261126153452,0.1234567891\n"), ',', false)
	if c := shown.Rows[0][1]; c.Text != "0.123457" || c.Whole != "0.1234567891" || shown.Rows[0][0].Whole != "" {
		t.Errorf("%v", shown.Rows)
	}
}

// TestRecords: lists of objects in JSON are tables, all other JSON is text.
func TestRecords(t *testing.T) {
	s := newShelf(t)
	for name, c := range map[string]struct{ media, content, want string }{
		"array":    {"application/json", `[{"b":1,"a":"x"},{"a":null,"c":[1,{"d":2}]}]`, "b,a,c | 1,x, | ,,[1,{\"d\":2}]"},
		"lines":    {"application/x-ndjson", "{\"a\":1.5}\n{\"a\":2}\n", "a | 1.5 | 2"},
		"large":    {"application/json", `[{"id":12345678901234567890}]`, "id | 12345678901234567890"},
		"one":      {"application/json", `{"a":1}`, ""},
		"numbers":  {"application/json", `[1,2]`, ""},
		"mixed":    {"application/json", `[{"a":1},2]`, ""},
		"broken":   {"application/json", `[{"a":1},{"a"`, ""},
		"no array": {"application/x-ndjson", `[{"a":1}]`, ""},
		"empty":    {"application/json", `[]`, ""},
	} {
		got, ok := newRecords(s.output(t, "x", c.media, c.content), s)
		if ok != (c.want != "") || ok && got.flat() != c.want {
			t.Errorf("%s: %v, %q", name, ok, got.flat())
		}
	}
	got, _ := newRecords(s.output(t, "x", "application/json", "["+strings.Repeat(`{"a":1},`, 99)+`{"a":1}]`), s)
	if len(got.Rows) != tableRows || strings.Join(got.Notes, "") != "The first 12 rows of 100." {
		t.Errorf("%d rows, %q", len(got.Rows), got.Notes)
	}
	got, ok := newRecords(s.output(t, "x", "application/x-ndjson", strings.Repeat(`{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}`+"\n", 30_000)), s)
	if !ok || strings.Join(got.Notes, "") != "The first 12 rows; there are more." {
		t.Errorf("%v %q", ok, got.Notes)
	}
}

// TestFailureFirst: what a failed analysis wrote last comes before all else but its reason.
func TestFailureFirst(t *testing.T) {
	s := newShelf(t)
	run := ordinary(t, s)
	trace := strings.Repeat("File x\n", 100) + "\x1b[31mKeyError\x1b[0m: <b>\u202e\n"
	run.Logs.Stderr = result.Log{Bytes: int64(len(trace)), SHA256: s.put(t, trace)}
	run.Hints = []result.Hint{{Code: "memory_limit", Message: "give it <i>more</i> memory"}}
	header := all(inspect(t, rendered(t, run, s)), atom.Header)[0]
	text := content(header)
	at := func(what string) int { return strings.Index(text, what) }
	order := []int{0, at("out of memory"), at("<i>more</i> memory"), at("KeyError: <b>\\u202e"), at("Ran for")}
	if !slices.IsSorted(order) || strings.Count(text, "File x") != failureLines-1 {
		t.Errorf("%q", text)
	}
	run.Logs.Stderr = result.Log{} // then it is the standard output
	if text = content(all(inspect(t, rendered(t, run, s)), atom.Header)[0]); at("The end of its standard output") < 0 || at("hello") < 0 {
		t.Errorf("%q", text)
	}
	run.State = "complete"
	if text = content(all(inspect(t, rendered(t, run, s)), atom.Header)[0]); at("The end of") >= 0 {
		t.Errorf("of a good run: %q", text)
	}
}

// TestOneFigure: files that differ only in their extension are one figure, the drawing if it can be shown.
func TestOneFigure(t *testing.T) {
	s := newShelf(t)
	png := s.output(t, "a/plot.png", "image/png", picture(t, 3, 2))
	good, bad := s.output(t, "a/plot.svg", "image/svg+xml", drawn), s.output(t, "a/plot.svg", "image/svg+xml", svgOf("<script/>"))
	other := s.output(t, "plot.png", "image/png", picture(t, 3, 2))
	for name, c := range map[string]struct {
		files []result.Output
		want  string
	}{
		"both":    {[]result.Output{png, good}, "a/plot.svg+a/plot.png"},
		"refused": {[]result.Output{png, bad}, "a/plot.png+a/plot.svg"},
		"other":   {[]result.Output{png, other}, "a/plot.png plot.png"},
		"empty":   {[]result.Output{s.output(t, "plot.png", "image/png", "")}, ""},
	} {
		run := ordinary(t, s)
		run.Outputs = c.files
		var got []string
		for _, f := range newResults(run, s).Figures {
			if f.Source == "" {
				t.Errorf("%s: %s", name, f.Why)
			}
			got = append(got, strings.Join(append([]string{f.Path}, f.Also...), "+"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
		inspect(t, rendered(t, run, s))
	}
}

func TestColoured(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb\x1b[0mc":              "[]a[t1]b[]c",
		"\x1b[1;32mb\x1b[22mc\x1b[39md":   "[t2 bold]b[t2]c[]d",
		"\x1b[38;5;28mg\x1b[38;2;9;0;9mh": "[t2]g[t5]h",
		"\x1b[2J\x1b]0;x\a\x1b[31":        `[]\x1b[2J\x1b]0;x\x07\x1b[31`,
		"\x1b[48;5;1;31mx\x1b[mz":         "[t1]x[]z",
		"\x1b[38;5;231mx":                 "[]x",
	} {
		got := ""
		for _, c := range coloured(text) {
			got += fmt.Sprintf("[%s]", c.Class)
			for _, p := range c.Pieces {
				got += p.Text
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := finalLines("10%\r20%\nx\r\n\ry\r"); got != "20%\nx\ny" {
		t.Errorf("%q", got)
	}
}

// TestNotebook: a notebook is shown as one, and the page links to its first error.
func TestNotebook(t *testing.T) {
	s := newShelf(t)
	run := ordinary(t, s)
	run.Outputs = []result.Output{s.output(t, "n.ipynb", notebookType, bookOf(proseCell("# T"),
		`{"cell_type":"code","execution_count":4,"source":"f()","outputs":[{"output_type":"error","traceback":["E"]}]}`,
		outputCell("application/javascript", "x"), outputCell("image/svg+xml", `<svg width="1" height="1"></svg>`)))}
	root := inspect(t, rendered(t, run, s))
	cell := section(t, root, "error-1")
	if got := strings.Join(strings.Fields(content(cell)), " "); got != "In [4]: f() E" {
		t.Errorf("%q", got)
	}
	const again = "The end of its standard output"
	if page := string(rendered(t, run, s)); run.State != "failed" || !strings.Contains(page, again) {
		t.Errorf("a failed script with a notebook among its outputs: %s, without %q", run.State, again)
	}
	run.Analysis = json.RawMessage(`{"script":"/srv/n.ipynb"}`)
	if page := string(rendered(t, run, s)); strings.Contains(page, again) {
		t.Error("the error of a notebook is at the top too")
	}
	text := content(section(t, root, "notebooks"))
	if !strings.Contains(text, "In [4] ended with an error") || !strings.Contains(text, "an output of the type application/javascript") || len(all(root, atom.Img)) != 1 {
		t.Errorf("%q", text)
	}
}

// FuzzRows: what is read of tables and records is bounded, whatever they hold.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{`[{"a":1},{"b":[1,{"c":"x"}]}]`, "{\"a\":1}\n{\"a\":null}", "a,b\n1,0.30000000000000004\n", "a\tb\n\"", `{"a":{"b":1}}`, "[[", "\xef\xbb\xbfa\n1", `[{"a":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, lines := range []bool{false, true} {
			r := recordReader{lines: lines}
			_ = r.read(json.NewDecoder(strings.NewReader(content)))
			for _, row := range r.rows() {
				if len(row) != len(r.names) || len(row) > tableColumns {
					t.Fatalf("a row of %d cells for %d names", len(row), len(r.names))
				}
			}
		}
		for _, name := range []string{"a.json", "a.csv"} {
			row, err := lastRow(name, []byte(content))
			if len(row.Names) > lastColumns && err == nil || err == nil && len(row.Names) != len(row.Values) {
				t.Fatalf("%d names, %d values", len(row.Names), len(row.Values))
			}
		}
		if short := rounded(content); Finite(content) && (!Finite(short) || math.Abs(Value(short)-Value(content)) > 0.01+1e-5*math.Abs(Value(content))) {
			t.Fatalf("%s is shown as %s", content, short)
		}
	})
}
