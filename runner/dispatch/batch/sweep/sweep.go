// Package sweep makes the requests of a parameter sweep: one for each combination of values.
package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Label is the label whose value is the name of a sweep.
const Label = "sweep"

// MaxLines is how many combinations a sweep may have.
const MaxLines = 1_000_000

// Sweep is the product of axes. The values of the last one change first.
type Sweep struct {
	Axes  []Axis
	Lines int // combinations
}

// New refuses two axes of one name, and more than MaxLines combinations.
func New(axes []Axis) (Sweep, error) {
	s := Sweep{Axes: axes, Lines: 1}
	seen := map[string]bool{}
	for _, axis := range axes {
		if seen[axis.Name] {
			return s, fmt.Errorf("%q is given twice; give all of its values at once", axis.Name)
		}
		seen[axis.Name] = true
		if axis.Len() > MaxLines/s.Lines {
			return s, fmt.Errorf("the sweep has more than %d lines; split it, or leave values out", MaxLines)
		}
		s.Lines *= axis.Len()
	}
	return s, nil
}

// Parameter is a value of an axis.
type Parameter struct{ Name, Value string }

// At is combination i, from 0, in the order of the axes.
func (s Sweep) At(i int) []Parameter {
	all := make([]Parameter, len(s.Axes))
	for n, axis := range slices.Backward(s.Axes) {
		all[n] = Parameter{axis.Name, axis.At(i % axis.Len())}
		i /= axis.Len()
	}
	return all
}

// Apply adds parameters to a request: as arguments --NAME VALUE, as labels, and in its id, which the name of the sweep and
// the values make.
func Apply(a spec.Analysis, name string, parameters []Parameter) spec.Analysis {
	var words []string
	a.Labels = maps.Clone(a.Labels)
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	a.Labels[Label] = name
	for _, p := range parameters {
		words = append(words, "--"+p.Name, p.Value)
		a.Labels[p.Name] = p.Value
	}
	if a.Script != "" {
		a.Args = slices.Concat(a.Args, words)
	} else {
		a.Command = slices.Concat(a.Command, words)
	}
	a.ID = ID(name, parameters)
	return a
}

// maxID is the length of an id in bytes.
const maxID = 128

var (
	nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`) })
	notOfID  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^A-Za-z0-9._-]`) })
)

// CheckName refuses a name of a sweep that no id can begin with.
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("--label sweep=%q: the ids of the lines begin with it; give 1 to 63 letters, digits, '.', '_' or '-', the first a letter or digit", name)
	}
	return nil
}

// ID is the id of a combination: the same whenever the sweep is repeated, in any order and with other values besides. The values
// are in it to be read; the digest makes it unique.
func ID(name string, parameters []Parameter) string {
	sorted := slices.SortedFunc(slices.Values(parameters), func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	read := ""
	for _, p := range sorted {
		read += "-" + p.Name + notOfID().ReplaceAllString(p.Value, "_")
	}
	raw, _ := json.Marshal(sorted) // it has only strings
	sum := sha256.Sum256(raw)
	digest := "-" + hex.EncodeToString(sum[:6])
	return name + read[:min(len(read), maxID-len(name)-len(digest))] + digest
}
