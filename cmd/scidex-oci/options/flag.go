// Package options has the options of the command line as typed values. A set of options registers its own flags; Load
// gives them their values by layers: the command line, the environment, a config file, and defaults.
package options

import (
	"flag"
	"slices"

	"github.com/urfave/cli/v2"
)

// Flag is a flag of the command line and the option that it sets.
type Flag struct {
	*cli.GenericFlag
	repeatable bool
	line       *line
	got        Text                 // effective values
	take       func(l layers) error // sets the option
}

func newFlag(name, usage string, aliases []string, take func(t Text) error) *Flag {
	f := &Flag{GenericFlag: &cli.GenericFlag{Name: name, Aliases: aliases, Usage: usage}, line: &line{}}
	f.Value = f.line
	f.take = func(l layers) error {
		f.got = l.text(name)
		return take(f.got)
	}
	return f
}

// Names returns the name and the aliases. The library's own searches each for commas, whenever one is looked up.
func (f *Flag) Names() []string { return append([]string{f.Name}, f.Aliases...) }

// line holds what the command line gives for a flag, in order.
type line struct {
	given  []string
	toggle bool
}

// Set adds a value.
func (l *line) Set(value string) error {
	l.given = append(l.given, value)
	return nil
}

// String is always empty: the help shows no default but that of the usage.
func (*line) String() string { return "" }

// IsBoolFlag reports whether the flag may be given without a value (package flag).
func (l *line) IsBoolFlag() bool { return l.toggle }

// Apply registers the flag under its first name: the command line is rewritten to that before it is parsed.
func (f *Flag) Apply(set *flag.FlagSet) error {
	f.line.given = nil
	set.Var(f.line, f.Name, f.Usage)
	return nil
}

// String is the flag as help shows it.
func (f *Flag) String() string { return cli.FlagStringer(f) }

// TakesValue reports whether the flag takes a value; a switch takes none.
func (f *Flag) TakesValue() bool { return !f.line.toggle }

// IsSliceFlag reports whether the flag may be given several times, which the help shows.
func (f *Flag) IsSliceFlag() bool { return f.repeatable }

// Got is the flag's value of the winning layer. Load sets it.
func (f *Flag) Got() Text { return f.got }

// Hide hides the flags of these names from help and man pages, and returns all.
func Hide(flags []*Flag, names ...string) []*Flag {
	for _, f := range flags {
		f.Hidden = f.Hidden || slices.Contains(names, f.Name)
	}
	return flags
}

// Describe sets another usage of a flag for help and man pages.
func Describe(flags []*Flag, name, usage string) {
	for _, f := range flags {
		if f.Name == name {
			f.Usage = usage
		}
	}
}

// Without returns the flags but those of these names.
func Without(flags []*Flag, names ...string) []*Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f *Flag) bool { return slices.Contains(names, f.Name) })
}

// List returns flags as the library takes them.
func List(flags ...*Flag) []cli.Flag {
	all := make([]cli.Flag, len(flags))
	for i, f := range flags {
		all[i] = f
	}
	return all
}

// Of returns those flags of lists that set an option. The library adds others, such as --help.
func Of(lists ...[]cli.Flag) []*Flag {
	var all []*Flag
	for _, f := range slices.Concat(lists...) {
		if option, ok := f.(*Flag); ok {
			all = append(all, option)
		}
	}
	return all
}
