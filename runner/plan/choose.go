package plan

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// chooseParent chooses who enforces the limits: a control group in this parent, or none. A default CPU limit yields where only
// the cpu controller is missing; a requested one does not.
func chooseParent(a spec.Analysis, groups warm.Groups, cpusAsked bool) (*cgroup.Parent, error) {
	if a.Limits == spec.LimitsOuter {
		return nil, nil // whatever is available: someone else's groups enforce them
	}
	parent, err := groups.Parent, groups.Err
	var missing *cgroup.MissingError
	switch {
	case errors.Is(err, warm.ErrNoSupervisor), errors.As(err, &missing) && a.Limits == spec.LimitsBestEffort:
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
