package runflags

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A line's own values go over the defaults, and its program takes the place of theirs with its arguments.
func TestBatchRequest(t *testing.T) {
	under := spec.Analysis{Script: "/at/default.py", Args: []string{"-v"}, Memory: 8 << 20, Labels: map[string]string{"a": "1", "b": "1"}}
	l := &Lines{Name: "f", dir: "/dir", Under: under, parser: Parser{global: &options.Global{}, env: lookupIn(nil)}}
	for text, want := range map[string]spec.Analysis{
		`{"args":["x"]}`:                       {Script: "/at/default.py", Args: []string{"x"}},
		`{"id":"a"}`:                           {ID: "a", Script: "/at/default.py", Args: []string{"-v"}},
		`{"command":["true"],"memory":"4MiB"}`: {Command: []string{"true"}, Memory: 4 << 20},
		`{"script":"own.py"}`:                  {Script: "/dir/own.py"},
		`{"labels":{"b":"2"}}`:                 {Script: "/at/default.py", Args: []string{"-v"}, Labels: map[string]string{"a": "1", "b": "2"}},
	} {
		got := l.parse([]byte(text), 1)
		a := got.Analysis
		if want.Memory == 0 {
			want.Memory = 8 << 20
		}
		if want.Labels == nil {
			want.Labels = under.Labels
		}
		if got.Err != nil || a.ID != want.ID || a.Script != want.Script || !slices.Equal(a.Args, want.Args) || !slices.Equal(a.Command, want.Command) ||
			a.Memory != want.Memory || !maps.Equal(a.Labels, want.Labels) {
			t.Errorf("%s: %+v, %v; want %+v", text, a, got.Err, want)
		}
	}
	if line := l.parse([]byte(`{"id":"a","pids":"many"}`), 7); line.Err == nil || line.Analysis.ID != "a" {
		t.Errorf("id %q, %v", line.Analysis.ID, line.Err)
	}
	if line := l.parse([]byte(`{"secrets":["NOSUCH"]}`), 7); line.Err == nil || !strings.HasPrefix(line.Err.Error(), `f:7: secret "NOSUCH"`) {
		t.Errorf("%v", line.Err)
	}
}

// Whoever reads the lines of a file once more is not in the way of whoever still reads them.
func TestBatchSourcesAreApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines.jsonl")
	const n = 5000 // more than one read takes
	if err := os.WriteFile(path, bytes.Repeat([]byte(`{"command":["true"]}`+"\n"), n), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := OpenLines(Parser{global: &options.Global{}, run: &options.Run{}, env: lookupIn(nil), Dir: "/"}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	one, other := l.Source(), l.Source()
	for i := range n {
		for _, source := range []batch.Source{one, other} {
			if line, err := source.Next(); err != nil || line.Err != nil || line.Number != i+1 {
				t.Fatalf("line %d is %d: %v, %v", i+1, line.Number, err, line.Err)
			}
		}
	}
}

func TestNamed(t *testing.T) {
	bad := errors.New("bad")
	given := []dispatch.Line{{Number: 1}, {Number: 2, Analysis: spec.Analysis{ID: "mine"}}, {Number: 3, Err: bad}}
	n := WithIDs{&linesOf{given}}
	first, err := n.Next()
	if err != nil || spec.ValidateID(first.Analysis.ID) != nil {
		t.Errorf("%+v, %v", first, err)
	}
	if second, _ := n.Next(); second.Analysis.ID != "mine" {
		t.Errorf("%+v", second)
	}
	if third, _ := n.Next(); third.Analysis.ID != "" || !errors.Is(third.Err, bad) {
		t.Errorf("%+v", third)
	}
	if _, err := n.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// linesOf is a source of these lines.
type linesOf struct{ left []dispatch.Line }

func (l *linesOf) Next() (dispatch.Line, error) {
	if len(l.left) == 0 {
		return dispatch.Line{}, io.EOF
	}
	line := l.left[0]
	l.left = l.left[1:]
	return line, nil
}
