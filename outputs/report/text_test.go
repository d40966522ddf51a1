package report

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func TestPieces(t *testing.T) {
	for _, c := range []struct{ text, lines, name string }{
		{"plain é 漢 🙂", "plain é 漢 🙂", "plain é 漢 🙂"},
		{"a\nb\tc", "a\nb\tc", "a<\\n>b<\\t>c"},
		{"\x1b[31mred\x1b[0m", `<\x1b>[31mred<\x1b>[0m`, `<\x1b>[31mred<\x1b>[0m`},
		{"10%\r20%", `10%<\r>20%`, `10%<\r>20%`},
		{"\u202egnp.exe", `<\u202e>gnp.exe`, `<\u202e>gnp.exe`},
		{"\xff\xfe", `<\xff\xfe>`, `<\xff\xfe>`},
		{"\u200b\ufeff\u00a0", "<\\u200b\\ufeff>\u00a0", "<\\u200b\\ufeff>\u00a0"},
		{"\ufffd", "\ufffd", "\ufffd"},
		{"👩\u200d🔬", "👩\u200d🔬", "👩\u200d🔬"},
		{"a\u3164", `a<\u3164>`, `a<\u3164>`},
		{"\x00\x7f\u0085\u2028\U000e0041", `<\x00\x7f\u0085\u2028\U000e0041>`, `<\x00\x7f\u0085\u2028\U000e0041>`},
		{"", "", ""},
	} {
		if got := marked(pieces(c.text, true)); got != c.lines {
			t.Errorf("%q with lines: %q, want %q", c.text, got, c.lines)
		}
		if got := marked(pieces(c.text, false)); got != c.name {
			t.Errorf("%q: %q, want %q", c.text, got, c.name)
		}
	}
}

func marked(all []Piece) string {
	var b strings.Builder
	for _, p := range all {
		if p.Mark {
			b.WriteString("<" + p.Text + ">")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func FuzzPieces(f *testing.F) {
	for _, seed := range []string{"a\x1b[2Jb", "\u202e</pre><script>", "\xc3\x28", "\r\n", strings.Repeat("\x00a", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kept := 0
		for _, p := range pieces(text, true) {
			if !utf8.ValidString(p.Text) {
				t.Fatalf("%q is no UTF-8", p.Text)
			}
			for _, r := range p.Text {
				if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
					t.Fatalf("%U is left", r)
				}
			}
			if !p.Mark {
				kept += len(p.Text)
			}
		}
		want := 0
		for i := 0; i < len(text); {
			r, size := utf8.DecodeRuneInString(text[i:])
			if harmless(r, size) || r == '\n' || r == '\t' {
				want += size
			}
			i += size
		}
		if kept != want {
			t.Fatalf("%d bytes are shown as they are, want %d", kept, want)
		}
	})
}

func TestBothEnds(t *testing.T) {
	s := newShelf(t)
	lines := func(n int) string { return strings.Repeat("0123456789\n", n) }
	for name, c := range map[string]struct {
		content string
		want    ends
	}{
		"short":    {"a\nb\n", ends{Head: "a\nb\n"}},
		"just so":  {lines(10), ends{Head: lines(10)}},
		"one more": {lines(10) + "x", ends{Head: lines(5), Tail: lines(4) + "x", Omitted: 11}},
		"long":     {lines(100), ends{Head: lines(5), Tail: lines(4), Omitted: 1001}},
		"no lines": {strings.Repeat("x", 1000), ends{Head: strings.Repeat("x", 60), Tail: strings.Repeat("x", 50), Omitted: 890}},
	} {
		if got := bothEnds(s, s.put(t, c.content), 60, 50); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := bothEnds(s, strings.Repeat("0", 64), 60, 50); !strings.Contains(got.Why, "not in the blob store") {
		t.Errorf("%+v", got)
	}
}

func TestScriptHasAnEnd(t *testing.T) {
	s := newShelf(t)
	for name, content := range map[string]string{"lines": strings.Repeat("pass\n", 3000), "bytes": strings.Repeat("x = 1 # "+strings.Repeat("y", 200)+"\r\n", 600)} {
		got := newCode(&result.Script{Name: "x", SHA256: s.put(t, content)}, s, "")
		if got.Note != "Only its beginning is shown." || len(got.Lines) > scriptLines || strings.Contains(got.Lines[1], "\r") {
			t.Errorf("%s: %q, %d lines", name, got.Note, len(got.Lines))
		}
	}
	if got := newCode(&result.Script{Name: "x"}, s, ""); got.Note != "It is empty." {
		t.Errorf("%+v", got)
	}
}

// FuzzLog: whatever an analysis writes is the text of one element, and nothing else on the page.
func FuzzLog(f *testing.F) {
	for _, seed := range []string{"a\x1b[2Jb", "\u202e</pre><script>alert(1)</script>", "<!--", "]]>", "{{.}}", "\xc3\x28<", "&lt;&#60;", "\x00"} {
		f.Add(seed)
	}
	s := newShelf(f)
	digests := map[string]string{}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" || strings.HasPrefix(text, "\n") { // a parser takes a newline away that begins a <pre>
			return
		}
		if digests[text] == "" {
			digests[text] = s.put(t, text)
		}
		run := result.Result{ID: "x", Attempt: 1, Outcome: outcome.Outcome{State: "complete"}}
		run.Logs.Stdout = result.Log{Bytes: int64(len(text)), SHA256: digests[text]}
		shown := all(inspect(t, rendered(t, run, s)), atom.Pre)
		var want strings.Builder
		for _, p := range pieces(text, true) {
			want.WriteString(p.Text)
		}
		if len(text) < logHead && (len(shown) != 1 || content(shown[0]) != want.String()) {
			t.Fatalf("%q is shown as %q", text, content(shown[0]))
		}
	})
}
