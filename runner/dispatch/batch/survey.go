package batch

import (
	"cmp"
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
// error of check; at adds the location to the last two. It keeps a digest of each line's id, 16 bytes.
func Look(source Source, check func(dispatch.Line) error, at func(number int, err error) error, bad func(dispatch.Line)) (s Survey, err error) {
	seen := map[[16]byte]int32{}
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
			line.Err = at(line.Number, cmp.Or(check(line), repeated(line, seen)))
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

// repeated refuses a duplicate id.
func repeated(line dispatch.Line, seen map[[16]byte]int32) error {
	id := line.Analysis.ID
	if id == "" {
		return nil
	}
	key := digest(id)
	if first, twice := seen[key]; twice {
		return fmt.Errorf("id %q is that of line %d already; give each line an id of its own", id, first)
	}
	seen[key] = int32(line.Number)
	return nil
}
