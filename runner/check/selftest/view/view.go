// Package view finds what a run with the caller's flags sees of the host, for a selftest.
package view

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

// View is what a run with the caller's flags sees of the host.
type View struct {
	Analysis  spec.Analysis // complete
	Inputs    []Input       // data, docs, project, further inputs
	Variables []string      // names in the environment
}

// Look gets the OCI specification that a run of the analysis would have.
func Look(ctx context.Context, r *phase.Host, a spec.Analysis, id string) (v View, err error) {
	wanted := a
	wanted.ID, wanted.Command = id, []string{canary.ProgramPath}
	wanted.WorkStorage = spec.WorkDisk // other runtimes show no tmpfs twice (--workdir)
	raw, err := plan.Spec(ctx, r, wanted)
	if err != nil {
		return v, err
	}
	var config specs.Spec
	if err := json.Unmarshal(raw, &config); err != nil {
		return v, fmt.Errorf("read the OCI specification: %w", err)
	}
	if v.Analysis, err = completed(a, config.Mounts); err != nil {
		return v, err
	}
	for _, m := range config.Mounts {
		if m.Type == "bind" && !slices.Contains(m.Options, "rw") && isInput(m.Destination) {
			v.Inputs = append(v.Inputs, NewInput(m.Source, m.Destination))
		}
	}
	for _, variable := range config.Process.Env {
		name, _, _ := strings.Cut(variable, "=")
		v.Variables = append(v.Variables, name)
	}
	v.Variables = append(v.Variables, a.Secrets...) // whose names the specification does not hold
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

// Outside returns the host's path of a path inside, or "".
func (v View) Outside(inside string) string {
	for _, in := range v.Inputs {
		if inside == in.Inside {
			return in.Source
		}
		if rest, below := strings.CutPrefix(inside, in.Inside+"/"); below {
			return path.Join(in.Source, rest)
		}
	}
	return ""
}
