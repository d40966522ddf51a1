package plan

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

// CheckIDs refuses a request whose runs cannot have the requested ids (--ids, --limits).
func CheckIDs(account idmap.Account, asked, limits string) error {
	switch {
	case asked == spec.IDsSelf && account.Root():
		return errors.New("--ids self would be the host's root here; run as an ordinary user, or leave it out: the run gets ids of its own")
	case asked == spec.IDsRange && !account.HasRange():
		return &request.HostError{Err: fmt.Errorf("--ids range: this user has no range of ids%s; add one (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER) or use --ids self",
			parenthesis(account.Notice))}
	case account.Root() && !account.HasRange():
		return &request.HostError{Err: errors.New("root has no ids to give here: its own user namespace maps too few; start the outer container with a larger id map")}
	case asked == spec.IDsSelf || limits != spec.LimitsEnforce:
		return nil
	case account.Notice != "":
		return &request.HostError{Err: fmt.Errorf("/etc/subuid gives this user ids for its runs, but %s; install it, or accept that with --ids self", account.Notice)}
	case !account.HasRange() && len(account.Groups) > 0:
		return &request.HostError{Err: fmt.Errorf("the analysis would keep the caller's supplementary groups %v, which a user without a range in /etc/subuid cannot drop; get a range, or accept that with --ids self", account.Groups)}
	}
	return nil
}

// chooseIDs locks a pair of ids for the run.
func (p *Plan) chooseIDs() (err error) {
	asked := p.Analysis.IDs
	if err := CheckIDs(p.Account, asked, p.Analysis.Limits); err != nil {
		return err
	}
	if p.Account.Notice != "" {
		p.Warnings = append(p.Warnings, p.Account.Notice)
	}
	p.Analysis.IDs = spec.IDsSelf
	if p.Account.HasRange() && asked != spec.IDsSelf {
		p.Analysis.IDs = spec.IDsRange
	}
	p.slot, err = p.Account.AcquireSlot(p.Analysis.IDs == spec.IDsSelf)
	return err
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// chooseLimits chooses who enforces the limits. A default CPU limit yields where only the cpu controller is missing; a
// requested one does not.
func (p *Plan) chooseLimits(groups standby.Groups, cpusAsked bool) error {
	if p.Analysis.Limits == spec.LimitsOuter {
		return nil // whatever is available: someone else's groups enforce them
	}
	parent, err := groups.Parent, groups.Err
	var missing *cgroup.MissingError
	switch {
	case errors.Is(err, standby.ErrNoSupervisor), errors.As(err, &missing) && p.Analysis.Limits == spec.LimitsBestEffort:
		return nil
	case errors.As(err, &missing):
		return &request.HostError{Err: fmt.Errorf("limits cannot be enforced: %w", missing)}
	case err != nil:
		return err
	case !parent.CPU && cpusAsked && p.Analysis.Limits == spec.LimitsEnforce:
		return &request.HostError{Err: fmt.Errorf("--cpus %g cannot be enforced: the cpu controller is not delegated to this user; %s, or leave --cpus out", p.Analysis.CPUs, parent.GrantCPU())}
	}
	p.Parent = parent
	return nil
}
