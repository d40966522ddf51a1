package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A line's own values go over the defaults, and its program takes the place of theirs with its arguments.
func TestBatchRequest(t *testing.T) {
	under := spec.Analysis{Script: "/at/default.py", Args: []string{"-v"}, Memory: 8 << 20, Labels: map[string]string{"a": "1", "b": "1"}}
	l := &lines{name: "f", dir: "/dir", under: under, parser: requestParser{global: &options.Global{}, env: variables(nil)}}
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
	l, err := openLines(requestParser{global: &options.Global{}, run: &options.Run{}, env: variables(nil), dir: "/"}, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
	one, other := l.source(), l.source()
	for i := range n {
		for _, source := range []batch.Source{one, other} {
			if line, err := source.Next(); err != nil || line.Err != nil || line.Number != i+1 {
				t.Fatalf("line %d is %d: %v, %v", i+1, line.Number, err, line.Err)
			}
		}
	}
}

func TestBatchOptions(t *testing.T) {
	for _, test := range []struct {
		given map[string]string
		want  batchOptions
		words string
	}{
		{given: nil},
		{given: map[string]string{"jobs": "3", "retries": "0", "resume": "true"}, want: batchOptions{jobs: 3, resume: true}},
		{given: map[string]string{"fail-fast": "true"}, want: batchOptions{maxFailures: 1}},
		{given: map[string]string{"max-failures": "4"}, want: batchOptions{maxFailures: 4}},
		{given: map[string]string{"max-failures": "0"}, words: "at least 1"},
		{given: map[string]string{"jobs": "many"}, words: "whole number"},
		{given: map[string]string{"retries": "-1"}, words: "at least 0"},
		{given: map[string]string{"fail-fast": "true", "max-failures": "2"}, words: "contradict"},
		{given: map[string]string{"id": "a"}, words: "give each line"},
		{given: map[string]string{"detach": "true"}, words: "setsid"},
		{given: map[string]string{"detach": "false"}},
		{given: map[string]string{"again": "a"}, words: "--resume"},
		{given: map[string]string{"file": "a"}, words: "argument"},
		{given: map[string]string{"export": "a"}, words: "each line"},
	} {
		p := &command.Program{Env: variables(map[string]string{"XDG_CONFIG_HOME": t.TempDir()}), Options: &options.Global{}}
		o := &batchOptions{run: newRunOptions(p)}
		flags := o.flags(p.Options)
		apply(t, flags, test.given)
		err := cmp.Or(p.Options.Load(p.Env, options.Of(flags)), refuse(flags, "a batch", notOfBatch), o.settle())
		got := *o
		got.run, got.failFast = nil, false
		if test.words == "" && (err != nil || got != test.want) {
			t.Errorf("%v: %+v, %v", test.given, got, err)
		}
		if test.words != "" && (err == nil || !strings.Contains(err.Error(), test.words)) {
			t.Errorf("%v: %v, want %q", test.given, err, test.words)
		}
	}
}

func TestBatchExit(t *testing.T) {
	for want, s := range map[int]batch.Summary{
		0:   {Complete: 3},
		1:   {Complete: 3, Failed: 1},
		125: {Failed: 1, Errors: 1},
		130: {Errors: 1, Signal: &runner.StopSignal{ExitCode: 130, Name: "SIGINT"}},
	} {
		if got := batchExit(s); got != want {
			t.Errorf("%+v: %d, want %d", s, got, want)
		}
	}
	if got := batchExit(batch.Summary{Canceled: 1}); got != 1 {
		t.Errorf("one that was stopped: %d", got)
	}
}

// What a hostile message holds begins no command of its own.
func TestAnnotation(t *testing.T) {
	got := annotation("a:b,c\n::set-output", "100%\r\n::stop-commands::x\x1b[2J")
	want := `::error title=a%3Ab%2Cc%0A%3A%3Aset-output::100%25%0D%0A::stop-commands::x\x1b[2J`
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestNamed(t *testing.T) {
	bad := errors.New("bad")
	given := []batch.Line{{Number: 1}, {Number: 2, Analysis: spec.Analysis{ID: "mine"}}, {Number: 3, Err: bad}}
	n := named{&linesOf{given}}
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
type linesOf struct{ left []batch.Line }

func (l *linesOf) Next() (batch.Line, error) {
	if len(l.left) == 0 {
		return batch.Line{}, io.EOF
	}
	line := l.left[0]
	l.left = l.left[1:]
	return line, nil
}

func TestLeft(t *testing.T) {
	signal := &runner.StopSignal{Name: "SIGINT"}
	for _, test := range []struct {
		s     batch.Summary
		total int
		want  string
	}{
		{batch.Summary{Complete: 2}, 2, ""},
		{batch.Summary{Complete: 2, Signal: signal}, 2, "; ended by SIGINT"},
		{batch.Summary{Complete: 2, Signal: signal}, 3, "; ended by SIGINT: one line was not started, which --resume takes up"},
		{batch.Summary{Failed: 2, Full: true}, 9, "; enough have failed: 7 lines were not started, which --resume takes up"},
		{batch.Summary{Failed: 2, Full: true}, -1, "; enough have failed: what is still to come on standard input was not started"},
	} {
		if got := left(test.s, test.total); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestSentence(t *testing.T) {
	r := batchReport{}
	o := batch.Outcome{Passed: true, Result: result.Result{ID: "a", State: catalog.Failed, Message: "bad\x1b"}}
	if got, want := r.sentence(o), `failed    a  bad\x1b  (of an earlier batch)`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// apply gives flags values as a command line does.
func apply(t *testing.T, flags []cli.Flag, values map[string]string) {
	t.Helper()
	set := flag.NewFlagSet("", flag.ContinueOnError)
	for _, f := range flags {
		if err := f.Apply(set); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range values {
		if err := set.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
}
