package limits

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Choose chooses who enforces the limits of an analysis. A default CPU limit yields if only the cpu controller is missing; a requested one
// does not.
func Choose(a spec.Analysis, groups Groups, cpusAsked bool) (*Limits, error) {
	parent, err := chooseParent(a, groups, cpusAsked)
	if err != nil {
		return nil, err
	}
	return &Limits{Enforced: []result.Enforcement{}, analysis: a, parent: parent}, nil
}

// chooseParent returns where the run's control group is made; nil if it gets none.
func chooseParent(a spec.Analysis, groups Groups, cpusAsked bool) (*cgroup.Parent, error) {
	if a.Limits == spec.LimitsOuter {
		return nil, nil // whatever is available: someone else's groups enforce them
	}
	parent, err := groups.parent, groups.err
	var missing *cgroup.MissingError
	switch {
	case errors.Is(err, errNoSupervisor), errors.As(err, &missing) && a.Limits == spec.LimitsBestEffort:
		return nil, nil // best effort
	case errors.As(err, &missing):
		return nil, &request.HostError{Err: fmt.Errorf("limits cannot be enforced: %w", missing)}
	case err != nil:
		return nil, err
	case !parent.CPU && cpusAsked && a.Limits == spec.LimitsEnforce:
		return nil, &request.HostError{Err: fmt.Errorf("--cpus %g cannot be enforced: the cpu controller is not delegated to this user; %s, or leave --cpus out", a.CPUs, parent.GrantCPU())}
	}
	return parent, nil
}
