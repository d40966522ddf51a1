package sweep

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

func axes(t *testing.T, texts ...string) []Axis {
	t.Helper()
	var all []Axis
	for _, text := range texts {
		axis, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, axis)
	}
	return all
}

func TestParseAxis(t *testing.T) {
	for text, want := range map[string][]string{
		"seed=0..3":        {"0", "1", "2", "3"},
		"n=-5..5..5":       {"-5", "0", "5"},
		"n=10..0..-4":      {"10", "6", "2"},
		"n=7..7":           {"7"},
		"lr=0.1,0.01":      {"0.1", "0.01"},
		"lr=-0.1":          {"-0.1"},
		"kind=a b,c=d,é":   {"a b", "c=d", "é"},
		"path=../a,..":     {"../a", ".."},
		"n=0.1..x,1..2..3": {"0.1..x", "1..2..3"},
	} {
		axis, err := ParseAxis(text)
		var got []string
		for i := range axis.Len() {
			got = append(got, axis.At(i))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"seed":                                  "no values; give NAME=VALUES",
		"seed=":                                 "no values",
		"=1":                                    "the name becomes a flag",
		"--lr=1":                                "the name becomes a flag",
		"a/b=1":                                 "the name becomes a flag",
		"1a=1":                                  "the name becomes a flag",
		"sweep=1":                               `the label "sweep" has the name`,
		"a=1,":                                  "a value is empty",
		"a=1,2,1":                               `the value "1" is given twice`,
		"a=\x1b[m":                              "cannot be a label",
		"a=\xff":                                "cannot be a label",
		"a=x" + long:                            "cannot be a label",
		"a=0..1.5":                              `"1.5" is no integer for a range`,
		"a=0..":                                 `"" is no integer`,
		"a=0..x":                                `"x" is no integer`,
		"a=5..1":                                "the range does not get from 5 to 1 by 1; give another step, as 5..1..-1",
		"a=1..5..-1":                            "the range does not get",
		"a=1..5..0":                             "the range does not get",
		"a=0..1000000":                          "the range has 1000001 values",
		"a=0..9999999999":                       "the range has 10000000000 values",
		"a=0..9223372036854775807":              "is no integer",
		"a=-9007199254740993..9007199254740993": "is no integer",
	} {
		if _, err := ParseAxis(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

var long = strings.Repeat("x", maxValue)

func TestProduct(t *testing.T) {
	s, err := New(axes(t, "seed=0..1", "lr=0.1,0.01,1"))
	if err != nil || s.Lines != 6 {
		t.Fatal(s, err)
	}
	var got []string
	for i := range s.Lines {
		p := s.At(i)
		got = append(got, fmt.Sprintf("%s %s", p[0].Value, p[1].Value))
	}
	if want := []string{"0 0.1", "0 0.01", "0 1", "1 0.1", "1 0.01", "1 1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := New(axes(t, "a=1", "a=2")); err == nil || !strings.Contains(err.Error(), `"a" is given twice`) {
		t.Error(err)
	}
	if s, err := New(axes(t, "a=0..999", "b=0..999")); err != nil || s.Lines != MaxLines {
		t.Error(s.Lines, err)
	}
	if _, err := New(axes(t, "a=0..999", "b=0..1000")); err == nil || !strings.Contains(err.Error(), "more than 1000000 lines") {
		t.Error(err)
	}
}

func TestApply(t *testing.T) {
	under := spec.Analysis{Command: make([]string, 1, 9), Labels: map[string]string{"of": "x"}}
	under.Command[0] = "fit"
	first := Apply(under, "s1", []Parameter{{"seed", "0"}, {"lr", "-0.1"}})
	second := Apply(under, "s1", []Parameter{{"seed", "1"}, {"lr", "-0.1"}})
	if want := []string{"fit", "--seed", "0", "--lr", "-0.1"}; !slices.Equal(first.Command, want) {
		t.Errorf("%q, want %q", first.Command, want)
	}
	if want := map[string]string{"of": "x", "sweep": "s1", "seed": "1", "lr": "-0.1"}; !reflect.DeepEqual(second.Labels, want) || len(under.Labels) != 1 {
		t.Errorf("%q, %q", second.Labels, under.Labels)
	}
	if first.ID == second.ID || first.Validate() != nil {
		t.Errorf("%q and %q, %v", first.ID, second.ID, first.Validate())
	}
	script := Apply(spec.Analysis{Script: "/a.py", Args: []string{"x"}}, "s1", []Parameter{{"seed", "0"}})
	if want := []string{"x", "--seed", "0"}; !slices.Equal(script.Args, want) || script.Command != nil {
		t.Errorf("%q, want %q", script.Args, want)
	}
}

// An id is the same in any order, is another for other values, and is always one.
func TestID(t *testing.T) {
	form := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	seen := map[string]bool{}
	for _, p := range [][]Parameter{
		{{"a", "b"}},
		{{"a", "b/"}},
		{{"a", "b?"}},
		{{"ab", ""}},
		{{"a", "-b"}},
		{{"a", "é"}},
		{{"a", long}},
		{{"a", long[1:]}},
		{{"a", "1"}, {"b", "2"}},
		{{"a", "2"}, {"b", "1"}},
	} {
		for _, name := range []string{"s", strings.Repeat("s", 63)} {
			id := ID(name, p)
			if !form.MatchString(id) || !strings.HasPrefix(id, name) || seen[id] {
				t.Errorf("%.40q: %q", p, id)
			}
			seen[id] = true
		}
	}
	if got, want := ID("s1", []Parameter{{"seed", "0"}, {"lr", "0.1"}}), "s1-lr0.1-seed0-6290c5914ba1"; got != want {
		t.Errorf("%q, want %q: a sweep of an earlier program could not be resumed", got, want)
	}
	other, turned := ID("s", []Parameter{{"a", "1"}, {"b", "2"}}), ID("s", []Parameter{{"b", "2"}, {"a", "1"}})
	if other != turned {
		t.Errorf("%q and %q", other, turned)
	}
}

func TestCheckName(t *testing.T) {
	for _, name := range []string{"", "-a", "a b", "a/b", strings.Repeat("a", 64), "a\n"} {
		if CheckName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	if err := CheckName("s1"); err != nil {
		t.Error(err)
	}
}
