package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// flat shows a table in one line: "name,x | a,1".
func (t table) flat() string {
	var rows []string
	for _, row := range append([][]cell{t.Header}, t.Rows...) {
		var cells []string
		for _, c := range row {
			cells = append(cells, c.Text)
		}
		rows = append(rows, strings.Join(cells, ","))
	}
	return strings.Join(rows, " | ")
}

func TestTable(t *testing.T) {
	numbers := func(rows int) string {
		var b strings.Builder
		b.WriteString("n,half\n")
		for i := range rows {
			fmt.Fprintf(&b, "%d,%g\n", i, float64(i)/2)
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		content, want, note string
	}{
		"plain":            {"name,x\na,1\nb,2\n", "name,x | a,1 | b,2", ""},
		"quoted":           {"name,x\r\n\"a, \"\"b\"\"\nc\",1\r\n", "name,x | a, \"b\"\nc,1", ""},
		"byte order mark":  {"\xef\xbb\xbfname,x\na,1\n", "name,x | a,1", ""},
		"no header":        {"1,a\n2,b\n", "1,2 | 1,a | 2,b", ""},
		"numbers in it":    {"network,1,2\nx,0.5,1\n", "1,2,3 | network,1,2 | x,0.5,1", ""},
		"word over number": {"network,1,2\n7,0.5,1\n8,,2\n", "network,1,2 | 7,0.5,1 | 8,,2", ""},
		"uneven":           {"a,b\n1\n1,2,3\n", "a,b, | 1,, | 1,2,3", ""},
		"header alone":     {"a,b\n", "a,b", ""},
		"empty":            {"", "", "It has no rows."},
		"many rows":        {numbers(40), "n,half | 0,0 | 1,0.5 | 2,1 | 3,1.5 | 4,2 | 5,2.5 | 6,3 | 7,3.5 | 8,4 | 9,4.5 | 10,5 | 11,5.5", "The first 12 rows of 40."},
		"many columns":     {strings.Repeat("a,", 40) + "b\n", strings.TrimSuffix(strings.Repeat("a,", 16), ","), "The first 16 columns of 41."},
		"long cell":        {strings.Repeat("é", 200) + "\n", strings.Repeat("é", 79) + "…", ""},
		"bare quote":       {"a,b\nx,1\ny\"z,2\nw,3\n", "a,b | x,1", "Shown as far as it is a table: parse error on line 3"},
		"no end":           {"a,b\n\"x,1\n", "a,b", "Shown as far as it is a table"},
	} {
		var got table
		got.read([]byte(c.content), ',', false)
		if got.flat() != c.want || c.note != "" && !strings.Contains(strings.Join(got.Notes, " "), c.note) || c.note == "" && got.Notes != nil {
			t.Errorf("%s: %q, %q", name, got.flat(), got.Notes)
		}
	}
}

// TestTruncatedTable: a record whose end was not read is not shown, unless it is the only one.
func TestTruncatedTable(t *testing.T) {
	var got table
	got.read([]byte("a,b\n1,2\n3,4"), ',', true)
	if got.flat() != "a,b | 1,2" || !slices.Equal(got.Notes, []string{"The first 1 row; there are more."}) {
		t.Errorf("%q, %q", got.flat(), got.Notes)
	}
	s := newShelf(t)
	shown := newTable(s.output(t, "x.csv", "text/csv", strings.Repeat("x", 10<<20)), ',', s)
	if len(shown.Header) != 1 || shown.Header[0].Text != strings.Repeat("x", 79)+"…" {
		t.Errorf("%.200q", shown.flat())
	}
}

func FuzzTable(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\"a\n", "a\tb\n", "\xff,\x00\n", strings.Repeat(",", 5000), "\"\"\"\n\"", "1\n2,3\n\n4"} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, content []byte, cut bool) {
		var got table
		got.read(content, ',', cut)
		if len(got.Header) > tableColumns || len(got.Rows) > tableRows || len(got.Notes) > 3 {
			t.Fatalf("%d columns, %d rows, %q", len(got.Header), len(got.Rows), got.Notes)
		}
		for _, row := range got.Rows {
			if len(row) != len(got.Header) {
				t.Fatalf("a row of %d cells below a header of %d", len(row), len(got.Header))
			}
			for _, c := range row {
				if len([]rune(c.Text)) > cellMax+1 {
					t.Fatalf("a cell of %d characters", len([]rune(c.Text)))
				}
			}
		}
	})
}
