package options

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

// The functions below each make the flag of one kind of option. What to points at is the default.

// Given makes the flag of an option that is interpreted where it is used.
func Given(to *Text, name, usage string, aliases ...string) *Flag {
	return newFlag(name, usage, aliases, func(t Text) error {
		*to = t
		return nil
	})
}

// GivenList is Given for a flag that may be given several times.
func GivenList(to *Text, name, usage string) *Flag { return repeat(Given(to, name, usage)) }

func repeat(f *Flag) *Flag {
	f.repeatable = true
	return f
}

// Value makes the flag of an option that parse reads. The error of parse is complete.
func Value[T any](to *T, name, usage string, parse func(t Text) (T, error), aliases ...string) *Flag {
	otherwise := *to
	return newFlag(name, usage, aliases, func(t Text) (err error) {
		if *to = otherwise; t.Given {
			*to, err = parse(t)
		}
		return err
	})
}

// Values is Value for a flag that may be given several times.
func Values[T any](to *T, name, usage string, parse func(t Text) (T, error)) *Flag {
	return repeat(Value(to, name, usage, parse))
}

// Bool makes the flag of a switch.
func Bool(to *bool, name, usage string, aliases ...string) *Flag {
	f := Value(to, name, usage, Text.Bool, aliases...)
	f.line.toggle = true
	return f
}

// String makes the flag of a text.
func String(to *string, name, usage string, aliases ...string) *Flag {
	return Value(to, name, usage, func(t Text) (string, error) { return t.Value, nil }, aliases...)
}

// Path makes the flag of a file name, which becomes absolute.
func Path(to *string, name, usage string, aliases ...string) *Flag {
	return Value(to, name, usage, func(t Text) (string, error) { return t.Path(""), nil }, aliases...)
}

// Parsed makes the flag of what a parser of another package reads: a size, a number of CPUs.
func Parsed[T any](to *T, name, usage string, parse func(text string) (T, error)) *Flag {
	return Value(to, name, usage, func(t Text) (T, error) {
		value, err := parse(t.Value)
		if err != nil {
			return value, t.Wrap(err)
		}
		return value, nil
	})
}

// Count makes the flag of a whole number that is at least least.
func Count(to *int, name, usage string, least int, aliases ...string) *Flag {
	return Number(to, name, usage, least, fmt.Sprintf("a whole number, at least %d", least), aliases...)
}

// Number is Count with another description of the value.
func Number(to *int, name, usage string, least int, what string, aliases ...string) *Flag {
	return Value(to, name, usage, func(t Text) (int, error) {
		n, err := strconv.Atoi(t.Value)
		if err != nil || n < least {
			return 0, t.Refuse("give %s", what)
		}
		return n, nil
	}, aliases...)
}

// Duration makes the flag of a duration that is at least least.
func Duration(to *time.Duration, name, usage string, least time.Duration) *Flag {
	return Value(to, name, usage, func(t Text) (time.Duration, error) {
		d, err := time.ParseDuration(t.Value)
		if err != nil || d < least {
			return 0, t.Refuse("give a duration of at least %v, as 90s or 10m", least)
		}
		return d, nil
	})
}

// Choice makes the flag of an enumeration.
func Choice(to *string, name, usage string, known ...string) *Flag {
	return Value(to, name, usage, func(t Text) (string, error) { return t.Choose(known...) })
}

// Choose is the value, which has to be one of known.
func (t Text) Choose(known ...string) (string, error) {
	if !slices.Contains(known, t.Value) {
		return "", t.Refuse("give one of %s", strings.Join(known, ", "))
	}
	return t.Value, nil
}

// Words makes the flag of words that each are one of known; it may be given several times.
func Words(to *[]string, name, usage string, known []string) *Flag {
	return Values(to, name, usage, func(t Text) ([]string, error) {
		for _, value := range t.Values {
			if !slices.Contains(known, value) {
				return nil, fmt.Errorf("%s %q: there is no such %s%s", t.Label, value, name, nearby(value, known))
			}
		}
		return t.Values, nil
	})
}

// nearby ends a sentence that refuses a word: with the probably meant one, or all.
func nearby(word string, known []string) string {
	if meant := suggest.DidYouMean(word, known, ""); meant != "" {
		return meant
	}
	return "; there are " + strings.Join(known, ", ")
}

// Pairs makes the flag of labels, K=V; it may be given several times.
func Pairs(to *map[string]string, name, usage string) *Flag {
	return Values(to, name, usage, func(t Text) (map[string]string, error) { return pairsOf(t, nil) })
}

// pairsOf parses K=V values, and if env is given, also K for the environment's value. On an error, the first, it has what
// could be read.
func pairsOf(t Text, env Lookup) (map[string]string, error) {
	var first error
	all := map[string]string{}
	for _, entry := range t.Values {
		key, value, err := pairOf(entry, env)
		if err != nil && first == nil {
			first = fmt.Errorf("%s %q: %w", t.Label, entry, err)
		}
		all[key] = value
	}
	return all, first
}

func pairOf(entry string, env Lookup) (key, value string, err error) {
	key, value, ok := strings.Cut(entry, "=")
	switch {
	case key == "":
		return key, value, fmt.Errorf(`no name before the "="; give K=V`)
	case ok:
		return key, value, nil
	case env == nil:
		return key, value, fmt.Errorf(`no "="; give K=V`)
	}
	if value, ok = env(key); !ok {
		err = fmt.Errorf("no such variable in the environment of this command; give %s=VALUE or leave it out", key)
	}
	return key, value, err
}
