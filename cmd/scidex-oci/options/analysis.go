package options

import (
	"slices"

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

// Label is how messages name the field of this key if the command line or the environment gives it, "" elsewhere: a
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
		a = spec.Merge(a, one.analysis.ResolvePaths(one.dir))
		if i == configFile {
			a = spec.Merge(a, base)
		}
	}
	return a, problem
}
