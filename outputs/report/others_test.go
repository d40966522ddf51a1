package report

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// TestNotebooksOfOthers compares what is shown of notebooks from Debian's packages with what nbconvert shows of them
// (testdata/notebooks/golden.py): each cell and each output, in order. SCIDEX_OCI_NOTEBOOKS names another directory.
func TestNotebooksOfOthers(t *testing.T) {
	dir := os.Getenv("SCIDEX_OCI_NOTEBOOKS")
	if dir == "" {
		dir = "testdata/notebooks"
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ipynb"))
	must(t, err)
	if len(files) < 5 {
		t.Fatalf("%d notebooks", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			content, err := os.ReadFile(file)
			must(t, err)
			want, err := os.ReadFile(strings.TrimSuffix(file, ".ipynb") + ".txt")
			must(t, err)
			s := newShelf(t)
			run := ordinary(t, s)
			run.Outputs = []result.Output{s.output(t, "x.ipynb", notebookType, string(content))}
			got := bookLines(section(t, inspect(t, rendered(t, run, s)), "notebooks"))
			compareLines(t, got, strings.Split(strings.TrimSuffix(string(want), "\n"), "\n"))
		})
	}
}

func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var a, b string
		if i < len(got) {
			a = joined(got[i])
		}
		if i < len(want) {
			b = joined(want[i])
		}
		if a != b {
			at := 0
			for at < min(len(a), len(b)) && a[at] == b[at] {
				at++
			}
			t.Errorf("line %d, from its byte %d:\n%.300q\n%.300q", i+1, at, a[max(at-20, 0):], b[max(at-20, 0):])
			return
		}
	}
}

// joined leaves out blanks: line breaks of the pages are not compared.
func joined(s string) string {
	return differing.Replace(strings.Join(strings.Fields(s), ""))
}

// differing are places where CommonMark, which JupyterLab follows too, is not what nbconvert takes for Markdown: a list in a
// list is indented by what is before its text.
var differing = strings.NewReplacer("Sublist-That-Theotherthing", "SublistThatTheotherthing")

var promptNumber = regexp.MustCompile(`\[(\d+)\]`)

// bookLines has a line for each cell and each output of a page.
func bookLines(root *html.Node) []string {
	var lines []string
	for n := range root.Descendants() {
		switch attribute(n, "class") {
		case "cell":
			lines = append(lines, bookLine("cell", n))
		case "output":
			if line := bookLine("output", n); line != "output" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func bookLine(kind string, n *html.Node) string {
	number, text := "", ""
	for c := range n.ChildNodes() {
		switch {
		case attribute(c, "class") == "prompt":
			if found := promptNumber.FindStringSubmatch(content(c)); found != nil {
				number = found[1]
			}
		case c.Type == html.ElementNode && attribute(c, "class") != "output":
			text += shownText(c)
		}
	}
	return strings.Join(strings.Fields(fmt.Sprint(kind, " ", number, " ", text)), " ")
}

// shownText is the text of an element, but for the addresses of links, which nbconvert does not show.
func shownText(n *html.Node) string {
	switch {
	case n.Type == html.TextNode:
		return n.Data
	case n.DataAtom == atom.Img:
		return " [image] "
	case attribute(n, "class") == "away":
		return ""
	case attribute(n, "class") == "note" && strings.HasPrefix(content(n), "[An image that is not in the notebook"):
		return " [image] " // nbconvert leaves it to the browser, which may load it
	}
	var b strings.Builder
	for c := range n.ChildNodes() {
		b.WriteString(shownText(c))
	}
	return b.String()
}
