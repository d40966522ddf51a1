package options

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Analysis are the options that fill a spec.Analysis. They are kept apart by layer: a manifest comes between the config file
// and the others.
type Analysis struct {
	// Env has the values of variables given by name only.
	Env Lookup

	network Text
	labels  map[string]string // by key, of what the command line or the environment gives
	of      [layerCount]fields
}

// fields are one layer's values.
type fields struct {
	analysis spec.Analysis
	dir      string // relative paths start here
	file     string // the config file; empty for the others
	err      error  // the first
}

// Label is how messages name the field of this key where the command line or the environment gives it, "" elsewhere: a
// manifest is above the config file.
func (o *Analysis) Label(key string) string { return o.labels[key] }

func (o *Analysis) labelled(flag, label string) {
	if o.labels == nil {
		o.labels = map[string]string{}
	}
	o.labels[key(flag)] = label
}

// HasID reports whether the id is given.
func (o *Analysis) HasID() bool { return o.above(func(a *spec.Analysis) string { return a.ID }) }

// HasScript reports whether a script is given.
func (o *Analysis) HasScript() bool {
	return o.above(func(a *spec.Analysis) string { return a.Script })
}

// HasRootfs reports whether the root filesystem is named here. A config file does not say what a repeated run had.
func (o *Analysis) HasRootfs() bool {
	return o.above(func(a *spec.Analysis) string { return a.Rootfs })
}

// NamesLimits reports whether the command line says what becomes of limits that cannot be enforced.
func (o *Analysis) NamesLimits() bool { return o.of[commandLine].analysis.Limits != "" }

// above reports whether the command line or the environment gives a field.
func (o *Analysis) above(field func(*spec.Analysis) string) bool {
	return field(&o.of[commandLine].analysis) != "" || field(&o.of[environment].analysis) != ""
}

// Over lays the options over base, a manifest, which is above the config file. On an error, the first, the analysis has what
// is known.
func (o *Analysis) Over(base spec.Analysis) (a spec.Analysis, problem error) {
	if o.network.Given && o.network.Value != "none" {
		problem = o.network.Refuse("a run never gets a network; leave it out, download first, and pass the files with --data DIR or --input FILE")
	}
	for i := range slices.Backward(o.of[:]) {
		one := &o.of[i]
		if problem == nil {
			problem = one.err
		}
		a = Merge(a, one.analysis.ResolvePaths(one.dir))
		if i == configFile {
			a = Merge(a, base)
		}
	}
	return a, problem
}

// field makes the flag of a field of the analysis.
func field[T any](o *Analysis, name, usage string, at func(*spec.Analysis) *T, parse func(Text) (T, error)) *Flag {
	f := newFlag(name, usage, nil, func(Text) error { return nil })
	took := f.take
	f.take = func(l layers) error {
		if t := l.text(name); t.Given && t.Layer != configFile {
			o.labelled(name, t.Label)
		}
		for i, from := range l {
			of := &o.of[i]
			of.dir, of.file = from.dir, from.file
			value, err := optional(from.text(name), parse)
			if *at(&of.analysis) = value; of.err == nil {
				of.err = err
			}
		}
		return took(l)
	}
	return f
}

func optional[T any](t Text, parse func(Text) (T, error)) (value T, err error) {
	if t.Given {
		value, err = parse(t)
	}
	return value, err
}

func (o *Analysis) text(name, usage string, at func(*spec.Analysis) *string) *Flag {
	return field(o, name, usage, at, func(t Text) (string, error) { return t.Value, t.notEmpty() })
}

// one is text for a file or directory. A second one would replace the first, where people expect both.
func (o *Analysis) one(name, usage string, at func(*spec.Analysis) *string, instead string) *Flag {
	return field(o, name, usage, at, func(t Text) (string, error) {
		return t.Value, cmp.Or(t.notEmpty(), t.onlyOne(instead))
	})
}

func (o *Analysis) list(name, usage string, at func(*spec.Analysis) *[]string) *Flag {
	return repeat(field(o, name, usage, at, func(t Text) ([]string, error) { return t.Values, t.notEmpty() }))
}

// notEmpty refuses an empty value, which would read as "not given".
func (t Text) notEmpty() error {
	if slices.Contains(t.Values, "") {
		return Text{Label: t.Label}.Refuse("is empty; give a value or leave it out")
	}
	return nil
}

// onlyOne refuses several values that differ.
func (t Text) onlyOne(instead string) error {
	if given := slices.Compact(slices.Clone(t.Values)); len(given) > 1 {
		return fmt.Errorf("%s is given twice (%s): %s", t.Label, format.Line(strings.Join(given, ", "), 200), instead)
	}
	return nil
}

// limit makes the flag of a limit. The parsers refuse zero, which would read as "not given".
func limit[T ~int64 | ~float64](o *Analysis, name, usage string, at func(*spec.Analysis) *T, parse func(string) (T, error)) *Flag {
	return field(o, name, usage, at, func(t Text) (T, error) {
		if err := t.notEmpty(); err != nil {
			return 0, err
		}
		value, err := parse(t.Value)
		if err != nil {
			err = t.Wrap(err)
		}
		return value, err
	})
}

func (o *Analysis) pairs(name, usage string, env Lookup, at func(*spec.Analysis) *map[string]string) *Flag {
	return repeat(field(o, name, usage, at, func(t Text) (map[string]string, error) { return pairsOf(t, env) }))
}

func readID(t Text) (string, error) {
	if err := spec.ValidateID(t.Value); err != nil {
		return "", t.Wrap(err)
	}
	return t.Value, nil
}

func readSwitch(t Text) (*bool, error) {
	on, err := t.Bool()
	return &on, err
}
