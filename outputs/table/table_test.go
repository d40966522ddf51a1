package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// given is an output of a run.
type given struct {
	run     Run
	path    string
	content string
}

// survey adds outputs, which must be good.
func survey(t *testing.T, all ...given) *Survey {
	t.Helper()
	s := &Survey{}
	for _, g := range all {
		if _, err := s.Add(g.run, g.path, strings.NewReader(g.content)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// joined is the table of outputs as a writer writes it.
func joined(t *testing.T, writer func(io.Writer, Layout) (Writer, error), all ...given) string {
	t.Helper()
	l := survey(t, all...).Layout()
	var b bytes.Buffer
	w, err := writer(&b, l)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if err := l.Write(w, g.run, g.path, strings.NewReader(g.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func csvOf(w io.Writer, l Layout) (Writer, error)   { return NewCSV(w, l, false) }
func exactOf(w io.Writer, l Layout) (Writer, error) { return NewCSV(w, l, true) }
func jsonOf(w io.Writer, l Layout) (Writer, error)  { return NewJSON(w, l) }

func run(id string, labels ...string) Run {
	r := Run{ID: id, Attempt: 1, State: "complete", Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		r.Labels[labels[i]] = labels[i+1]
	}
	return r
}

func TestJoin(t *testing.T) {
	all := []given{
		{run("a", "lr", "0.1", "loss", "007"), "m.csv", "loss,n,note,ok\n0.5,1,=1+1,True\n,9007199254740993,\"x\ny\",false\n"},
		{run("b", "lr", "1", "of", "-x"), "m.json", `{"loss":1,"z":[1],"id":"<&>"}`},
	}
	for _, tt := range []struct {
		name   string
		writer func(io.Writer, Layout) (Writer, error)
		want   string
	}{
		{"csv", csvOf, "id,attempt,state,label.loss,lr,of,loss,n,note,ok,z,output.id\n" +
			"a,1,complete,007,0.1,,0.5,1,'=1+1,True,,\n" +
			"a,1,complete,007,0.1,,,9007199254740993,\"x\ny\",false,,\n" +
			"b,1,complete,,1,'-x,1,,,,[1],<&>\n"},
		{"exact", exactOf, "id,attempt,state,label.loss,lr,of,loss,n,note,ok,z,output.id\n" +
			"a,1,complete,007,0.1,,0.5,1,=1+1,True,,\n" +
			"a,1,complete,007,0.1,,,9007199254740993,\"x\ny\",false,,\n" +
			"b,1,complete,,1,-x,1,,,,[1],<&>\n"},
		{
			"json", jsonOf,
			`{"id":"a","attempt":1,"state":"complete","label.loss":"007","lr":0.1,"of":null,"loss":0.5,"n":1,"note":"=1+1","ok":true,"z":null,"output.id":null}` + "\n" +
				`{"id":"a","attempt":1,"state":"complete","label.loss":"007","lr":0.1,"of":null,"loss":null,"n":9007199254740993,"note":"x\ny","ok":false,"z":null,"output.id":null}` + "\n" +
				`{"id":"b","attempt":1,"state":"complete","label.loss":null,"lr":1,"of":"-x","loss":1,"n":null,"note":null,"ok":null,"z":"[1]","output.id":"<&>"}` + "\n",
		},
	} {
		if got := joined(t, tt.writer, all...); got != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
	}
}

// Values that JSON cannot express are null or written in another form.
func TestJSONNumbers(t *testing.T) {
	got := joined(t, jsonOf, given{run("a"), "m.csv", "x,y\n.5,nan\n+1,-inf\n5.,NA\n"})
	want := ""
	for _, x := range []string{"0.5", "1", "5"} {
		want += `{"id":"a","attempt":1,"state":"complete","x":` + x + `,"y":null}` + "\n"
	}
	if got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}

// Each column has a name of its own, whatever names the analyses choose.
func TestNames(t *testing.T) {
	s := survey(t, given{run("a", "id", "1", "x", "2", "label.x", "3", "state", "4"), "m.csv", "x,label.x,id,output.id,attempt,label.label.x\n1,2,3,4,5,6\n"})
	want := []string{
		"id", "attempt", "state", "label.id", "label.label.label.x", "label.state", "label.label.label.label.x",
		"x", "label.x", "output.output.id", "output.id", "output.attempt", "label.label.x",
	}
	if got := s.Layout().Names(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An output is in the table as a whole or not at all.
func TestSurveyIsWhole(t *testing.T) {
	s := survey(t, given{run("a"), "m.csv", "x\n1\n"})
	if _, err := s.Add(run("b", "new", "1"), "m.csv", strings.NewReader("x,y\na,1\nb\n")); err == nil {
		t.Fatal("a bad output was added")
	}
	if _, err := s.Add(run("b", "new", "1"), "m.csv", iotest.TimeoutReader(strings.NewReader("x,y\na,1\n"))); !errors.As(err, new(*ReadError)) {
		t.Fatal(err)
	}
	l := s.Layout()
	if want := []Column{{"id", String}, {"attempt", Integer}, {"state", String}, {"x", Integer}}; !slices.Equal(l.Columns, want) || s.Rows() != 1 {
		t.Errorf("%v, %d rows", l.Columns, s.Rows())
	}
}

// The columns of all outputs together are bounded, and an output that has none of its own still fits.
func TestMostColumns(t *testing.T) {
	s, refused := &Survey{}, 0
	for n := range 6 {
		var names []string
		for i := range MaxColumns {
			names = append(names, fmt.Sprintf("c%d-%d", n, i))
		}
		if _, err := s.Add(run("a"), "m.csv", strings.NewReader(strings.Join(names, ",")+"\n"+strings.Repeat(",", MaxColumns-1)+"\n")); err != nil {
			refused++
			if !strings.Contains(err.Error(), "the table would have more than 4000 columns") {
				t.Error(err)
			}
		}
	}
	if _, err := s.Add(run("b"), "m.csv", strings.NewReader("c0-0\n1\n")); err != nil || refused != 2 || len(s.outputs.names) != maxAll {
		t.Errorf("%v, %d refused, %d columns", err, refused, len(s.outputs.names))
	}
	var objects strings.Builder
	for i := range MaxColumns + 1 {
		fmt.Fprintf(&objects, "{\"k%d\":1}\n", i)
	}
	if _, err := (&Survey{}).Add(run("a"), "m.jsonl", strings.NewReader(objects.String())); err == nil || !strings.Contains(err.Error(), "it has more than 1000 columns") {
		t.Error(err)
	}
}

// No text of a CSV begins as a formula of a spreadsheet does, also none of its header.
func TestFormulas(t *testing.T) {
	content := "=a,b\n=cmd|' /C calc'!A0,@SUM(A1)\n+cmd,-1+1\n\"\t=1\",\"\r=1\"\n-5,1e5\n"
	got := joined(t, csvOf, given{run("a", "l", "-a"), "m.csv", content})
	for _, formula := range []string{",=", ",@", ",+", ",-1+1", "\"\t=", "\"\r=", ",-a"} {
		if strings.Contains(got, formula) {
			t.Errorf("%q in\n%s", formula, got)
		}
	}
	if !strings.Contains(got, ",-5,1e5\n") {
		t.Errorf("a number has changed: %s", got)
	}
	var b bytes.Buffer
	l := survey(t, given{run("a"), "m.csv", content}).Layout()
	w, err := NewCSV(&b, l, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(w, run("a"), "m.csv", strings.NewReader(content)); err != nil || w.Guarded() != 7 {
		t.Errorf("%v, %d texts have an apostrophe", err, w.Guarded())
	}
}

// TestFormulaBeginnings: also a full-width one, and one behind what a program skips, begins a formula; a text that only has one does not.
func TestFormulaBeginnings(t *testing.T) {
	for _, text := range []string{
		"=1", "+1", "-a", "@A", "\t1", "\r1", "\n1", "＝1", "＋1", "－a", "＠A", " =1", "\ufeff=1", "\ufeff\ufeff＝1", "\u200b=1", "\u3000＝1", "\x01=1", " \t=1",
	} {
		if got := (&CSV{}).guard(Cell{text, Text}); got != "'"+text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{"", "a=1", "1-2", " a", "é＝", "\u0338", "\ufffd=", "（1）", "\ufeff"} {
		if got := (&CSV{}).guard(Cell{text, Text}); got != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

// A row keeps nothing of the row before it.
func TestRowsApart(t *testing.T) {
	got := joined(t, exactOf, given{run("a"), "m.jsonl", "{\"x\":1}\n{\"y\":2}\n{}\n"})
	if want := "id,attempt,state,x,y\na,1,complete,1,\na,1,complete,,2\na,1,complete,,\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
