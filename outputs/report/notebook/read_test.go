package notebook

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// read is the notebook of a text that is one.
func read(t *testing.T, text string) Notebook {
	t.Helper()
	n, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFormats: formats 3 and 4 of one notebook are the same.
func TestFormats(t *testing.T) {
	four := `{"metadata":{},"nbformat":4,"cells":[
		{"cell_type":"markdown","source":["## T","itle"]},
		{"cell_type":"code","execution_count":3,"source":"1+1","outputs":[
			{"output_type":"stream","name":"stderr","text":["a\n","b"]},
			{"output_type":"execute_result","execution_count":3,"data":{"text/plain":"2","image/png":"cG5n"}},
			{"output_type":"error","ename":"E","evalue":"v","traceback":["x","y"]}]},
		{"cell_type":"raw","source":"r"}]}`
	three := `{"metadata":{},"nbformat":3,"worksheets":[{"cells":[
		{"cell_type":"heading","level":2,"source":["Title"]},
		{"cell_type":"code","prompt_number":3,"input":["1+","1"],"language":"python","outputs":[
			{"output_type":"stream","stream":"stderr","text":"a\nb"},
			{"output_type":"pyout","prompt_number":3,"text":["2"],"png":"cG5n","metadata":{}},
			{"output_type":"pyerr","ename":"E","evalue":"v","traceback":["x","y"]}]},
		{"cell_type":"raw","source":"r"}],"metadata":{}}]}`
	want := "1 0 ## Title\n2 3 1+1\n  stderr false a|b 0 map[]\n   false  3 map[image/png:cG5n text/plain:2]\n   true x|y 0 map[]\n0 0 r\n"
	for format, text := range map[int]string{4: four, 3: three} {
		if got := flat(read(t, text)); got != want {
			t.Errorf("format %d: %q, want %q", format, got, want)
		}
	}
}

func flat(n Notebook) string {
	var b strings.Builder
	for _, c := range n.Cells {
		fmt.Fprintf(&b, "%d %d %s\n", c.Kind, c.Number, c.Source)
		for _, o := range c.Outputs {
			fmt.Fprintf(&b, "  %s %v %s %d %v\n", o.Stream, o.Error, strings.ReplaceAll(o.Text, "\n", "|"), o.Number, o.Bundle.Types)
		}
	}
	return b.String()
}

// TestBounds: no more is kept than the bounds say, and what is not kept is counted.
func TestBounds(t *testing.T) {
	n := read(t, `{"cells":[`+strings.Repeat(`{"source":"x"},`, cellsMax+7)+`{"source":"y"}]}`)
	if len(n.Cells) != cellsMax || n.More != 8 {
		t.Errorf("%d cells, %d more", len(n.Cells), n.More)
	}
	big := strings.Repeat("é", textMax)
	c := read(t, `{"cells":[{"cell_type":"code","source":["`+big+`","x"],"outputs":[`+strings.Repeat(`{"output_type":"stream","text":"`+big+`"},`, outputsMax)+`{}]}]}`).Cells[0]
	if len(c.Source) != textMax || !c.Cut || len(c.Outputs) != outputsMax || c.More != 1 {
		t.Errorf("%d bytes, %v; %d outputs, %d more", len(c.Source), c.Cut, len(c.Outputs), c.More)
	}
	head := strings.Repeat("x", textMax-1)
	if c := read(t, `{"cells":[{"cell_type":"code","source":["`+head+`","é","y"]}]}`).Cells[0]; c.Source != head || !c.Cut {
		t.Errorf("a text that is cut between characters ends with %q", c.Source[textMax-2:])
	}
	if o := c.Outputs[0]; len(o.Text) != textMax || !o.Cut || o.Stream != "stdout" {
		t.Errorf("%d bytes, %v, of %q", len(o.Text), o.Cut, o.Stream)
	}
	b := read(t, `{"cells":[{"outputs":[{"data":{"text/html":"`+strings.Repeat("x", htmlMax+1)+`","a/b":{"c":[1]},"text/plain":"p"}}]}]}`).Cells[0].Outputs[0].Bundle
	if !reflect.DeepEqual(b, Bundle{map[string]string{"text/plain": "p"}, []string{"text/html", "a/b"}}) {
		t.Errorf("%v", b)
	}
}

// TestDamaged: what comes before the damage is there.
func TestDamaged(t *testing.T) {
	for text, want := range map[string]int{`{"cells":[{"source":"a"},{"source":"b"},{"sour`: 2, `{"cells":[{"source":"a"}],`: 1, `{"cells":[{"source":"a"}] x`: 1, ``: 0, `[]`: 0, `{"nbformat":4}`: 0} {
		n, err := Read(strings.NewReader(text))
		if len(n.Cells) != want || err == nil {
			t.Errorf("%q: %d cells, %v", text, len(n.Cells), err)
		}
	}
}

func FuzzRead(f *testing.F) {
	others, err := filepath.Glob("../testdata/notebooks/*.ipynb")
	if err != nil || len(others) == 0 {
		f.Fatalf("no notebooks of others: %v", err)
	}
	for _, name := range others {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(content))
	}
	for _, seed := range []string{`{"cells":[{"source":["a",1],"outputs":[{"data":{"text/html":null}},7]},null]}`, `{"worksheets":[{"cells":{}}]}`, `[[[`, `{"cells":[{"attachments":{"a":{"image/png":["x"]}}}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		n, _ := Read(strings.NewReader(content))
		if len(n.Cells) > cellsMax {
			t.Fatalf("%d cells", len(n.Cells))
		}
		for _, c := range n.Cells {
			if len(c.Source) > textMax+20 || len(c.Outputs) > outputsMax || len(c.Images) > outputsMax || c.Number < 0 {
				t.Fatalf("%d bytes, %d outputs", len(c.Source), len(c.Outputs))
			}
			for _, o := range c.Outputs {
				if len(o.Text) > textMax+3000 || len(o.Bundle.Types) > len(known) || (o.Error || o.Stream != "") && o.Bundle.Types != nil {
					t.Fatalf("%d bytes of %q, %v", len(o.Text), o.Stream, o.Bundle.Types)
				}
			}
		}
	})
}
