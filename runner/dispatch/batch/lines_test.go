package batch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	for name, test := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":         {"", nil},
		"one":             {"a\n", []string{"1 a"}},
		"no end":          {"a\nb", []string{"1 a", "2 b"}},
		"blank ones":      {"\n  \na\n\t\n\nb\n", []string{"3 a", "6 b"}},
		"CR LF":           {"a\r\n\r\nb\r\n", []string{"1 a", "3 b"}},
		"byte order mark": {"\ufeffa\n\ufeffb\n", []string{"1 a", "2 \ufeffb"}},
		"mark alone":      {"\ufeff\nb\n", []string{"2 b"}},
		"too long":        {"a\n" + long + "\nb\n", []string{"1 a", "2 too long", "3 b"}},
		"too long, open":  {long + "y", []string{"1 too long"}},
		"long":            {strings.Repeat("y", 100_000) + "\nb", []string{"1 " + strings.Repeat("y", 100_000), "2 b"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(test.in), "f", func(text []byte, number int) dispatch.Line {
				return dispatch.Line{Number: number, Analysis: spec.Analysis{ID: string(text)}}
			})
			var got []string
			for {
				line, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				text := line.Analysis.ID
				if line.Err != nil {
					text = "too long"
				}
				got = append(got, fmt.Sprintf("%d %s", line.Number, text))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%.200q, want %.200q", got, test.want)
			}
		})
	}
}

// ids is a source of lines with these ids; "!" begins that of a bad one.
func ids(all ...string) Source {
	return NewReader(strings.NewReader(strings.Join(all, "\n")), "f", func(text []byte, number int) dispatch.Line {
		line := dispatch.Line{Number: number, Analysis: spec.Analysis{ID: strings.Trim(string(text), "-"), CPUs: float64(number)}}
		if text[0] == '!' {
			line.Err = errors.New("bad")
		}
		return line
	})
}

func TestLook(t *testing.T) {
	check := func(line dispatch.Line) error {
		if line.Analysis.ID == "" {
			return errors.New("no id")
		}
		return nil
	}
	at := func(number int, err error) error {
		return cmp.Or(err, nil) // the place is the caller's
	}
	var bad []string
	s, err := Look(ids("a", "!b", "c", "a", "-", "c"), check, at, func(line dispatch.Line) { bad = append(bad, fmt.Sprintf("%d %v", line.Number, line.Err)) })
	if err != nil || s.Lines != 6 || s.Bad != 4 || s.Largest.CPUs != 3 || s.Largest.Memory != 2<<30 {
		t.Errorf("%+v, %v", s, err)
	}
	want := []string{
		"2 bad", `4 id "a" is that of line 1 already; give each line an id of its own`,
		"5 no id", `6 id "c" is that of line 3 already; give each line an id of its own`,
	}
	if !slices.Equal(bad, want) {
		t.Errorf("%q, want %q", bad, want)
	}
}
