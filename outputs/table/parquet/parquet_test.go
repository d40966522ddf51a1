package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// written is the file of one output.
func written(t *testing.T, name, content string) *parquet.File {
	t.Helper()
	run := table.Run{ID: "a", Attempt: 1, State: "complete", Labels: map[string]string{"z": "1", "lr": "0.1"}}
	s := table.Survey{}
	if _, err := s.Add(run, name, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	l := s.Layout()
	w := New(&b, l)
	if err := l.Write(w, run, name, strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// read is a line for each row.
func read(t *testing.T, f *parquet.File) (all []string) {
	t.Helper()
	r := parquet.NewReader(f)
	defer r.Close()
	for buffer := make([]parquet.Row, 10); ; {
		n, err := r.ReadRows(buffer)
		for _, row := range buffer[:n] {
			var line []string
			for _, v := range row {
				line = append(line, fmt.Sprintf("%v", v))
			}
			all = append(all, strings.Join(line, " "))
		}
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestParquet(t *testing.T) {
	f := written(t, "m.csv", "x,b,a,=f\n1.5,True,9007199254740993,é\nnan,,-2,\n")
	var columns []string
	for _, field := range f.Schema().Fields() {
		columns = append(columns, field.Name()+":"+field.Type().String())
	}
	want := []string{"id:STRING", "attempt:INT(64,true)", "state:STRING", "lr:DOUBLE", "z:INT(64,true)", "x:DOUBLE", "b:BOOLEAN", "a:INT(64,true)", "=f:STRING"}
	if !slices.Equal(columns, want) {
		t.Errorf("columns %q, want %q", columns, want)
	}
	rows := []string{"a 1 complete 0.1 1 1.5 true 9007199254740993 é", "a 1 complete 0.1 1 NaN <null> -2 <null>"}
	if got := read(t, f); !slices.Equal(got, rows) {
		t.Errorf("%q, want %q", got, rows)
	}
}

// A group of rows ends by its size and by its number of rows.
func TestGroups(t *testing.T) {
	long := strings.Repeat("a", table.MaxCell)
	for _, tt := range []struct {
		content string
		rows    int
	}{
		{"x\n" + strings.Repeat(long+"\n", 130), 130},
		{"x\n" + strings.Repeat("1\n", groupRows*2), groupRows * 2},
	} {
		f := written(t, "m.csv", tt.content)
		rows := 0
		for _, group := range f.RowGroups() {
			rows += int(group.NumRows())
		}
		if groups := len(f.RowGroups()); groups < 2 || groups > 3 || rows != tt.rows {
			t.Errorf("%d groups, %d rows, want %d", groups, rows, tt.rows)
		}
	}
}

func TestValue(t *testing.T) {
	for text, want := range map[string]float64{"0.1": 0.1, "-inf": math.Inf(-1), "5": 5} {
		if got := value(table.Cell{Text: text, Kind: table.Float}, table.Real, 3); got.Double() != want || got.Column() != 3 {
			t.Errorf("%s: %v in column %d", text, got, got.Column())
		}
	}
	if got := value(table.Cell{Text: "NA", Kind: table.Missing}, table.Integer, 0); !got.IsNull() {
		t.Errorf("NA is %v", got)
	}
	if got := value(table.Cell{Text: strconv.Itoa(math.MaxInt64), Kind: table.Wide}, table.Integer, 0); got.Int64() != math.MaxInt64 {
		t.Error(got)
	}
}
