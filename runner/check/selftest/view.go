package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// view is what a run with the caller's flags sees of the host.
type view struct {
	analysis  spec.Analysis // complete
	inputs    []input       // data, docs, project, further inputs
	variables []string      // names in the environment
}

// look gets the OCI specification that a run of the analysis would have.
func look(ctx context.Context, r *phase.Host, a spec.Analysis, id string) (v view, err error) {
	wanted := a
	wanted.ID, wanted.Command = id, []string{canary.ProgramPath}
	raw, err := plan.Spec(ctx, r, wanted)
	if err != nil {
		return v, err
	}
	var config specs.Spec
	if err := json.Unmarshal(raw, &config); err != nil {
		return v, fmt.Errorf("read the OCI specification: %w", err)
	}
	if v.analysis, err = completed(a, config.Mounts); err != nil {
		return v, err
	}
	for _, m := range config.Mounts {
		if m.Type == "bind" && isInput(m.Destination) {
			v.inputs = append(v.inputs, newInput(m.Source, m.Destination))
		}
	}
	for _, variable := range config.Process.Env {
		name, _, _ := strings.Cut(variable, "=")
		v.variables = append(v.variables, name)
	}
	v.variables = append(v.variables, a.Secrets...) // whose names the specification does not hold
	return v, nil
}

// completed sets the inputs that the runner found by default.
func completed(a spec.Analysis, mounts []specs.Mount) (spec.Analysis, error) {
	dir, err := os.Getwd()
	if err != nil {
		return a, err
	}
	for inside, field := range map[string]*string{"/data": &a.Data, "/docs": &a.Docs} {
		i := slices.IndexFunc(mounts, func(m specs.Mount) bool { return m.Destination == inside })
		if i >= 0 {
			*field = mounts[i].Source
		} else {
			*field = spec.None
		}
	}
	return defaults(a.ResolvePaths(dir)), nil
}

// defaults sets defaults, except the number of CPUs: where that cannot be enforced, a run with the default starts and a run
// that requests the same number is refused.
func defaults(a spec.Analysis) spec.Analysis {
	cpus := a.CPUs
	a = a.WithDefaults()
	a.CPUs = cpus
	return a
}

// outside returns the host's path of a path inside, or "".
func (v view) outside(inside string) string {
	for _, in := range v.inputs {
		if inside == in.inside {
			return in.source
		}
		if rest, below := strings.CutPrefix(inside, in.inside+"/"); below {
			return path.Join(in.source, rest)
		}
	}
	return ""
}
