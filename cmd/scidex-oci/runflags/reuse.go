package runflags

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/spec"
)

// ForReuse is the analysis that is compared with earlier runs: with digests of all inputs.
func (o Request) ForReuse(a spec.Analysis) (spec.Analysis, error) {
	switch {
	case o.Again:
		return a, errors.New("--reuse and --again contradict each other: give one of them")
	case o.Detach:
		return a, errors.New("--reuse answers at once or runs here: leave --detach out")
	case o.Hook != nil:
		return a, errors.New("--reuse calls no command for a run that is not made: leave --post-process out")
	case a.DigestInputs != "" && a.DigestInputs != spec.DigestFull:
		return a, fmt.Errorf("--reuse needs digests of all that is read, and --digest-inputs is %s: leave that out, or give full", a.DigestInputs)
	}
	a.DigestInputs = spec.DigestFull
	return a, nil
}
