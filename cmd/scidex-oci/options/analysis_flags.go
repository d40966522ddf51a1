package options

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Flags are the flags that fill a spec.Analysis.
func (o *Analysis) Flags() []*Flag {
	var flags []*Flag
	for _, f := range spec.Fields() {
		if f.Flag != "" {
			flags = append(flags, inGroup(f.Group, o.flag(f))...)
		}
	}
	return append(flags, inGroup(spec.GroupLimits, Given(&o.network, "network", "`none`, the only value: a run never gets a network"))...)
}

// flag makes the flag of a field, whose value it keeps apart for each layer.
func (o *Analysis) flag(f spec.Field) *Flag {
	made := newFlag(f.Flag, f.Usage(), nil, func(Text) error { return nil })
	made.repeatable = f.Several()
	_, made.line.toggle = f.At(&spec.Analysis{}).(**bool)
	took := made.take
	made.take = func(l layers) error {
		if t := l.text(f.Flag); t.Given && t.Layer != configFile {
			o.labelled(f.Flag, t.Label)
		}
		for i, from := range l {
			of := &o.of[i]
			of.dir, of.file = from.dir, from.file
			f.Clear(&of.analysis)
			if t := from.text(f.Flag); t.Given {
				if err := o.read(f, &of.analysis, t); of.err == nil {
					of.err = err
				}
			}
		}
		return took(l)
	}
	return made
}

// read sets a field to the values of its flag, also if there are too many. An empty one would read as "not given".
func (o *Analysis) read(f spec.Field, a *spec.Analysis, t Text) (err error) {
	switch to := f.At(a).(type) {
	case *map[string]string:
		var env Lookup // a name without a value is one of the environment
		if to == &a.Env {
			env = o.Env
		}
		*to, err = pairsOf(t, env)
		return err
	case **bool:
		on, err := t.Bool()
		*to = &on
		return err
	}
	if f.Word != nil {
		if err := f.Word(t.Value); err != nil {
			return t.Wrap(err)
		}
	}
	if slices.Contains(t.Values, "") {
		return Text{Label: t.Label}.Refuse("is empty; give a value or leave it out")
	}
	err = f.Parse(a, t.Values)
	if given := slices.Compact(slices.Clone(t.Values)); f.Only != "" && len(given) > 1 {
		return fmt.Errorf("%s is given twice (%s): %s", t.Label, format.Line(strings.Join(given, ", "), 200), f.Only)
	}
	if err != nil {
		return t.Wrap(err)
	}
	return nil
}
