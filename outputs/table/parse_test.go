package table

import (
	"errors"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// rowsOf is what a parser gives of an output: a line for each row.
func rowsOf(t *testing.T, name string, content io.Reader) ([]string, error) {
	t.Helper()
	var all []string
	err := Read(name, content, func(names []string, cells []Cell) error {
		if len(names) != len(cells) {
			t.Fatalf("%d names and %d cells", len(names), len(cells))
		}
		var row []string
		for i, cell := range cells {
			row = append(row, fmt.Sprintf("%s=%q:%d", names[i], cell.Text, cell.Kind))
		}
		all = append(all, strings.Join(row, " "))
		return nil
	})
	return all, err
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, content string
		want          []string
	}{
		{"a.csv", "x,y\n1,a\n\n2,\"b,\nc\"\n", []string{`x="1":2 y="a":32`, `x="2":2 y="b,\nc":32`}},
		{"a.csv", "\ufeffx\r\n1\r\n", []string{`x="1":2`}},
		{"a.csv", ",y\n0,1\n", []string{`column1="0":2 y="1":2`}},
		{"a.csv", "x;y\n0;1\n", []string{`x="0":2 y="1":2`}},
		{"a.csv", "x,y\n", nil},
		{"a.tsv", "x\ty,z\n0\t1\n", []string{`x="0":2 y,z="1":2`}},
		{"table", "x\ty,z\n0\t1\n", []string{`x="0":2 y,z="1":2`}},
		{"table", "x,z\n0,1\n", []string{`x="0":2 z="1":2`}},
		{"a.json", `{"x":1,"y":"2","z":null}`, []string{`x="1":2 y="2":32 z="":0`}},
		{"a.json", ` [ {"x" : 1.5} , {"y":true} ] ` + "\n", []string{`x="1.5":8`, `y="true":1`}},
		{"a.json", "[]", nil},
		{"a.json", "{}", []string{""}},
		{"a.jsonl", "{\"x\":1}\n\n{\"x\":2}", []string{`x="1":2`, `x="2":2`}},
		{"a.json", `{"x":NaN,"y":-Infinity,"z":{"b":[1, NaN, "NaN"]}}`, []string{`x="NaN":8 y="-Infinity":8 z="{\"b\":[1,null,\"NaN\"]}":32`}},
		{"a.json", `{"a\u0062":"\"}\\"}`, []string{`ab="\"}\\":32`}},
		{"metrics", "\n {\"x\":1}", []string{`x="1":2`}},
	} {
		got, err := rowsOf(t, tt.name, iotest.OneByteReader(strings.NewReader(tt.content)))
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s %q: %q, %v, want %q", tt.name, tt.content, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	wide := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("c%d", i))
		}
		return strings.Join(names, ",") + "\n"
	}
	for _, tt := range []struct{ name, content, want string }{
		{"a.csv", "", "it is empty"},
		{"a.json", " \n", "it is empty"},
		{"a.csv", "x,y\n1\n", "wrong number of fields"},
		{"a.csv", "x\na\"b\n", `bare "`},
		{"a.csv", "x\n\"a", `extraneous or missing "`},
		{"a.csv", "x,x\n", `two of its columns are named "x"`},
		{"a.csv", "x\n\xff\n", "line 2: a cell is not UTF-8"},
		{"a.csv", "x\n\n\x00\n", "line 3: a cell has a NUL byte"},
		{"a.csv", "x\n" + strings.Repeat("a", maxCell+1), "a cell has more than 256KiB"},
		{"a.csv", "x\n\"" + strings.Repeat("\n", maxRecord*2), "a record has more than 1MiB"},
		{"a.csv", strings.Repeat(",", maxRecord*2), "a record has more than 1MiB"},
		{"a.csv", strings.Repeat("a", maxName+1) + "\n", "the name of a column has more than 1KiB"},
		{"a.csv", wide(MaxColumns + 1), "it has more than 1000 columns"},
		{"a.json", "[1]", `record 1: it starts with '1', and a record is an object`},
		{"a.json", "3", `it starts with '3'`},
		{"a.json", `[{"x":1}`, "the array does not end"},
		{"a.json", `[{} {}]`, "no comma between"},
		{"a.json", `[{},]`, "it starts with ']'"},
		{"a.json", `[{}]{}`, "something after the array"},
		{"a.json", `{"x":1`, "the object does not end"},
		{"a.json", `{"x":1,}`, "record 1: it is no JSON"},
		{"a.json", `{"x":1]`, "it is no JSON"},
		{"a.json", `{x:1}`, "it is no JSON"},
		{"a.json", `{"x":01}`, "it is no JSON"},
		{"a.json", `{"x":}`, "it is no JSON"},
		{"a.json", `{"x"}`, "it is no JSON"},
		{"a.json", `{"x":[1,}]`, "it is no JSON"},
		{"a.json", `{"x":NaNs}`, "it is no JSON"},
		{"a.json", `{"x":1,"x":2}`, `two of its columns are named "x"`},
		{"a.json", "{\"x\":\"\xff\"}", "it is not UTF-8"},
		{"a.json", `{"x":"\u0000"}`, `the value of "x" has a NUL byte`},
		{"a.json", `{"x":"` + strings.Repeat("a", maxRecord), "a record has more than 1MiB"},
		{"a.json", `{"x":"` + strings.Repeat("a", maxCell+1) + `"}`, `the value of "x" has more than 256KiB`},
		{"a.json", `{"x":` + strings.Repeat("[", MaxDepth+1), "nested deeper than 64"},
		{"a.json", `{"x":` + strings.Repeat(`{"a":`, 1<<20), "nested deeper than 64"},
	} {
		if _, err := rowsOf(t, tt.name, strings.NewReader(tt.content)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %.40q: %v, want %q", tt.name, tt.content, err, tt.want)
		}
	}
}

// A damaged blob is only found at its end, so all of it is read, also if its content is wrong before.
func TestParseReadsToTheEnd(t *testing.T) {
	damaged := errors.New("damaged")
	for _, content := range []string{"x\n1\n", "x\na\"b\n", strings.Repeat("x", maxName+1) + "\n", "x,y\n1\n"} {
		from := io.MultiReader(strings.NewReader(content), strings.NewReader(strings.Repeat("z", 1<<20)), iotest.ErrReader(damaged))
		_, err := rowsOf(t, "a.csv", from)
		var read *ReadError
		if !errors.As(err, &read) || !errors.Is(err, damaged) {
			t.Errorf("%.20q: %v", content, err)
		}
	}
	for _, content := range []string{`[1]`, `{"x":1}`, `{"x":1,}`} {
		_, err := rowsOf(t, "a.json", io.MultiReader(strings.NewReader(content), iotest.ErrReader(damaged)))
		if read := new(ReadError); !errors.As(err, &read) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

// Many records together may have any size.
func TestParseManyRecords(t *testing.T) {
	const rows = 40
	cell := strings.Repeat("a", maxCell)
	for name, content := range map[string]string{
		"a.csv":   "x\n" + strings.Repeat(cell+"\n", rows),
		"a.jsonl": strings.Repeat(`{"x":"`+cell+"\"}\n", rows),
		"a.json":  "[{}" + strings.Repeat(`,{"x":"`+cell+"\"}", rows-1) + strings.Repeat(" ", 4<<20) + "]",
	} {
		if got, err := rowsOf(t, name, strings.NewReader(content)); err != nil || len(got) != rows {
			t.Errorf("%s: %d rows, %v", name, len(got), err)
		}
	}
}

func TestKinds(t *testing.T) {
	for text, want := range map[string]Kind{
		"": 0, "NA": Missing, "True": Bool, "false": Bool, "yes": Text,
		"0": Int, "-5": Int, "+5": Int, "007": Text, "-0": Float, "9007199254740992": Int, "9007199254740993": Wide,
		"-9223372036854775808": Wide, "9223372036854775808": Text,
		"1e5": Float, ".5": Float, "5.": Float, "1e400": Text, "nan": Float, "-inf": Float, "Infinity": Float, "0x1p-2": Text, "1_000": Text,
		"1-2": Text, "+-1": Text, "-": Text, "e": Text, "1e": Text, "2026-11-26": Text, "١": Text,
	} {
		if got := bare(text).Kind; got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	for kinds, want := range map[Kind]Type{
		0: String, Missing: String, Bool: Boolean, Int: Integer, Int | Wide | Missing: Integer, Int | Float: Real, Wide | Float: String,
		Bool | Int: String, Float | Text: String, Float | Missing: Real,
	} {
		if got := kinds.Type(); got != want {
			t.Errorf("%b: %d, want %d", kinds, got, want)
		}
	}
}

// FuzzParse: whatever an output holds, its rows are within the bounds, and are the same however its bytes come.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"x,y\n1,2\n", "x\ty\n", `{"a":[1,{"b":NaN}]}`, "[{},{\"x\":\"\\ud800\"}]", "{\"x\":1}\n{\"y\":2}", "\ufeff\"a\"\"b\"\n", `{"x":-Infinity}`, "[", "{\"", `{"a":"\`,
	} {
		for _, name := range []string{"a.csv", "a.json", "a"} {
			f.Add(name, []byte(seed), int64(1))
		}
	}
	f.Fuzz(func(t *testing.T, name string, content []byte, seed int64) {
		whole, err := rowsOf(t, name, strings.NewReader(string(content)))
		pieces, again := rowsOf(t, name, &pieced{content, rand.New(rand.NewSource(seed))}) //nolint:gosec // sizes of reads
		if (err == nil) != (again == nil) || err == nil && !slices.Equal(whole, pieces) {
			t.Errorf("%q, %v, and in pieces %q, %v", whole, err, pieces, again)
		}
	})
}

// pieced gives a few bytes with each read.
type pieced struct {
	rest []byte
	size *rand.Rand
}

func (p *pieced) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.rest[:min(len(p.rest), 1+p.size.Intn(7))])
	p.rest = p.rest[n:]
	return n, nil
}
