package runflags

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch/sweep"
	"github.com/scidex-ai/scidex-oci/spec"
)

// OpenSweep makes lines of the combinations of a sweep, which run the command or script of the command line. Its name is the
// label "sweep"; without one, which resume needs, it is made.
func OpenSweep(k Parser, s sweep.Sweep, resume bool) (*Lines, error) {
	under, err := k.sweepRequest()
	if err != nil {
		return nil, err
	}
	for _, axis := range s.Axes {
		if value, taken := under.Labels[axis.Name]; taken {
			return nil, fmt.Errorf("--label %s=%s: the sweep gives each line its own %s; leave the label out", axis.Name, value, axis.Name)
		}
	}
	name, given := under.Labels[sweep.Label]
	switch {
	case given:
		err = sweep.CheckName(name)
	case resume:
		err = fmt.Errorf("--resume and --rerun need the name of the sweep that they go on with; give --label %s=NAME", sweep.Label)
	default:
		name, err = NewID()
	}
	if err != nil {
		return nil, err
	}
	under.Labels = withLabel(under.Labels, name)
	return &Lines{Name: "sweep " + name, sweep: &s, parser: k, Under: under, Close: func() error { return nil }}, nil
}

func withLabel(labels map[string]string, name string) map[string]string {
	all := map[string]string{sweep.Label: name}
	for key, value := range labels {
		all[key] = value
	}
	return all
}

// sweepRequest is what each line has in common.
func (k Parser) sweepRequest() (spec.Analysis, error) {
	if !k.run.HasScript() && len(k.Words) == 1 && (k.Words[0] == "-" || slices.Contains([]string{".jsonl", ".ndjson", ".json"}, path.Ext(k.Words[0]))) {
		return spec.Analysis{}, fmt.Errorf("a sweep makes its own lines; leave %s out, and give a command after -- or --script FILE", k.Words[0])
	}
	a, err := k.run.Over(spec.Analysis{})
	if err != nil {
		return a, err
	}
	if a, err = k.command(a); err != nil {
		return a, fmt.Errorf("--sweep: %w", err)
	}
	a.Runtime, err = k.global.Runtime(a.Runtime)
	return a, cmp.Or(err, k.missingSecret(a), k.missingOfConfig(a))
}

// SweepName is the name of the sweep that makes the lines; empty if none does.
func (l *Lines) SweepName() string {
	if l.sweep == nil {
		return ""
	}
	return l.Under.Labels[sweep.Label]
}

// sweepSource makes the lines of a sweep, one by one.
type sweepSource struct {
	lines *Lines
	next  int
}

// Next makes the next line.
func (s *sweepSource) Next() (dispatch.Line, error) {
	l := s.lines
	if s.next == l.sweep.Lines {
		return dispatch.Line{}, io.EOF
	}
	a := sweep.Apply(l.Under, l.SweepName(), l.sweep.At(s.next))
	s.next++
	return dispatch.Line{Number: s.next, Analysis: a, Err: l.At(s.next, a.Validate())}, nil
}

// surveyed is how many lines of a sweep are checked for all, which differ only in arguments and labels: two show whether one
// template is for several.
const surveyed = 2

// surveySweep checks the first lines.
func (l *Lines) surveySweep(check func(dispatch.Line) error, bad func(dispatch.Line)) (batch.Survey, error) {
	survey, err := batch.Look(&firstLines{l.Source(), surveyed}, check, l.At, bad)
	if survey.Bad > 0 {
		survey.Bad = l.sweep.Lines
	}
	survey.Lines = l.sweep.Lines
	return survey, err
}

// firstLines are those of a source until left is 0.
type firstLines struct {
	batch.Source
	left int
}

// Next is io.EOF after the last of them.
func (f *firstLines) Next() (dispatch.Line, error) {
	if f.left == 0 {
		return dispatch.Line{}, io.EOF
	}
	f.left--
	return f.Source.Next()
}
