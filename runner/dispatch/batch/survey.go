package batch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Survey is what is known of all lines, checked before the first is run.
type Survey struct {
	Lines, Bad int
	Largest    admission.Resources // the most memory and the most CPUs that a line requests
	Inputs     int                 // most files and directories that a line shows
}

// Look reads a source to its end and calls bad for each line that cannot be run: because of its Err, a duplicate id, or an
// error of check; at adds the location to the last two.
func Look(source Source, check func(dispatch.Line) error, at func(number int, err error) error, bad func(dispatch.Line)) (s Survey, err error) {
	source = &Distinct{Source: source, At: at}
	for {
		line, err := source.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return s, err
		}
		s.Lines++
		if line.Err == nil {
			line.Err = at(line.Number, check(line))
		}
		if line.Err != nil {
			s.Bad++
			bad(line)
			continue
		}
		limits := admission.LimitsOf(line.Analysis)
		s.Largest.Memory, s.Largest.CPUs = max(s.Largest.Memory, limits.Memory), max(s.Largest.CPUs, limits.CPUs)
		s.Inputs = max(s.Inputs, inputs(line.Analysis.WithDefaults()))
	}
}

// digest is half a SHA-256: a batch may have many lines.
func digest(text string) [16]byte {
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// inputs counts the files and directories of the host that an analysis is given.
func inputs(a spec.Analysis) int {
	n := len(a.Inputs)
	for _, one := range []string{a.Script, a.Data, a.Docs, a.Project, a.Stage, a.Runtime} {
		if one != "" && one != spec.None {
			n++
		}
	}
	return n
}

// Distinct refuses each line of a source whose id an earlier one has. It keeps a digest of each id, 16 bytes.
type Distinct struct {
	Source
	At   func(number int, err error) error // adds the location
	seen map[[16]byte]int32
}

// Next returns the next line, with an Err if its id is taken.
func (d *Distinct) Next() (dispatch.Line, error) {
	line, err := d.Source.Next()
	id := line.Analysis.ID
	if err != nil || line.Err != nil || id == "" {
		return line, err
	}
	if d.seen == nil {
		d.seen = map[[16]byte]int32{}
	}
	key := digest(id)
	if first, twice := d.seen[key]; twice {
		line.Err = d.At(line.Number, fmt.Errorf("id %q is that of line %d already; give each line an id of its own", id, first))
	} else {
		d.seen[key] = int32(line.Number)
	}
	return line, nil
}
