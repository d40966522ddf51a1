package options

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitCommand(t *testing.T) {
	env := Lookup(func(name string) (string, bool) { return "/home/x", name == "HOME" })
	for in, want := range map[string][]string{
		`psql`:                        {"psql"},
		`  a   b	c `:                  {"a", "b", "c"},
		`a "b c" 'd e'`:               {"a", "b c", "d e"},
		`a b\ c "d\"e" 'f\g' h"i"'j'`: {"a", "b c", `d"e`, `f\g`, "hij"},
		`a ""`:                        {"a", ""},
		`a '$HOME' "\$HOME" \$x`:      {"a", "$HOME", "$HOME", "$x"},
		`a ';' "|" \& '*' *.csv ?`:    {"a", ";", "|", "&", "*", "*.csv", "?"},
		`~/hook --to=x # why`:         {"/home/x/hook", "--to=x"},
		"a \\\n b":                    {"a", "b"},
		`a x{1,2} {} =`:               {"a", "x1", "x2", "{}", "="},
		`sh -c 'a | b; c $D'`:         {"sh", "-c", "a | b; c $D"},
		`a "two` + "\n" + `lines"`:    {"a", "two\nlines"},
		`é "ü ö"`:                     {"é", "ü ö"},
	} {
		got, err := SplitCommand(in, env)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// What only a shell could do is refused, and never becomes an argument.
func TestSplitCommandRefuses(t *testing.T) {
	env := Lookup(func(string) (string, bool) { return "", false })
	for in, want := range map[string]string{
		"":                 "is empty",
		"  # nothing":      "is empty",
		"a | b":            "not one plain command",
		"a && b":           "not one plain command",
		"a; b":             "not one plain command",
		"a\nb":             "not one plain command",
		"a &":              "not one plain command",
		"! a":              "not one plain command",
		"a >f":             "not one plain command",
		"X=1 a":            "not one plain command",
		"X=1":              "not one plain command",
		"(a)":              "not one plain command",
		"if a; then b; fi": "not one plain command",
		"a $X":             "an expansion",
		"a \"$X\"":         "an expansion",
		"a `b`":            "an expansion",
		"a $(b)":           "an expansion",
		"a $((1+1))":       "an expansion",
		"a 'b":             "not a command by the rules of a shell",
		`a "b`:             "not a command by the rules of a shell",
		`"" a`:             "the name of the command is empty",
	} {
		got, err := SplitCommand(in, env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}
