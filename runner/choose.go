package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// HostError is a refusal that is the host's or the account's doing and not the request's: `scidex-oci doctor`
// tells more.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *HostError) Unwrap() error { return e.Err }

// CheckIDs refuses a request whose runs cannot have the ids that it asks for (--ids, --limits).
func CheckIDs(account sandbox.Account, asked, limits string) error {
	switch {
	case asked == spec.IDsSelf && account.Root():
		return errors.New("--ids self would be the host's root here; run as an ordinary user, or leave it out: the run gets ids of its own")
	case asked == spec.IDsRange && !account.HasRange():
		return &HostError{fmt.Errorf("--ids range: this user has no range of ids%s; add one (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER) or use --ids self",
			parenthesis(account.Notice))}
	case account.Root() && !account.HasRange():
		return &HostError{errors.New("root has no ids to give here: its own user namespace maps too few; start the outer container with a larger id map")}
	case asked == spec.IDsSelf || limits != spec.LimitsEnforce:
		return nil
	case account.Notice != "":
		return &HostError{fmt.Errorf("/etc/subuid gives this user ids for its runs, but %s; install it, or accept that with --ids self", account.Notice)}
	case !account.HasRange() && len(account.Groups) > 0:
		return &HostError{fmt.Errorf("the analysis would keep the caller's supplementary groups %v, which a user without a range in /etc/subuid cannot drop; get a range, or accept that with --ids self", account.Groups)}
	}
	return nil
}

// chooseIDs locks a pair of ids for the run.
func (p *plan) chooseIDs() (err error) {
	asked := p.analysis.IDs
	if err := CheckIDs(p.account, asked, p.analysis.Limits); err != nil {
		return err
	}
	if p.account.Notice != "" {
		p.warnings = append(p.warnings, p.account.Notice)
	}
	p.analysis.IDs = spec.IDsSelf
	if p.account.HasRange() && asked != spec.IDsSelf {
		p.analysis.IDs = spec.IDsRange
	}
	p.slot, err = p.account.AcquireSlot(p.analysis.IDs == spec.IDsSelf)
	return err
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// groups is where control groups can be made, or why nowhere.
type groups struct {
	parent *cgroup.Parent
	err    error
}

// errNoSupervisor is the error of groups for a supervisor that has not started. Why is said by the run.
var errNoSupervisor = errors.New("there is no supervisor to make a scope for")

func findGroups(ctx context.Context, account sandbox.Account) (g groups) {
	g.parent, g.err = cgroup.Find(ctx, cgroup.System{Root: account.Root()})
	return g
}

// wantScope reports whether there is no place for control groups unless systemd gives one.
func (g groups) wantScope() bool {
	var missing *cgroup.MissingError
	return errors.As(g.err, &missing) && missing.Unified
}

// scope asks systemd for a place around the supervisor.
func (g groups) scope(ctx context.Context, account sandbox.Account, supervisor *sandbox.Supervisor) groups {
	var missing *cgroup.MissingError
	if supervisor == nil || !errors.As(g.err, &missing) {
		return groups{err: errNoSupervisor}
	}
	g.parent, g.err = cgroup.Scope(ctx, cgroup.System{Root: account.Root()}, missing, supervisor.Pid())
	return g
}

// warm prepares the move into a control group; the function it returns ends that.
func (g groups) warm() (cool func()) {
	if g.parent == nil {
		return func() {}
	}
	return g.parent.Warm()
}

// chooseLimits says who is to hold the limits. A default CPU limit yields where only the cpu
// controller is missing; one that was asked for does not.
func (p *plan) chooseLimits(groups groups, cpusAsked bool) error {
	if p.analysis.Limits == spec.LimitsOuter {
		return nil // whatever place there is: someone else's groups are to hold
	}
	parent, err := groups.parent, groups.err
	var missing *cgroup.MissingError
	switch {
	case errors.Is(err, errNoSupervisor), errors.As(err, &missing) && p.analysis.Limits == spec.LimitsBestEffort:
		return nil
	case errors.As(err, &missing):
		return &HostError{fmt.Errorf("limits cannot be enforced: %w", missing)}
	case err != nil:
		return err
	case !parent.CPU && cpusAsked && p.analysis.Limits == spec.LimitsEnforce:
		return &HostError{fmt.Errorf("--cpus %g cannot be enforced: the cpu controller is not delegated to this user; %s, or leave --cpus out", p.analysis.CPUs, parent.GrantCPU())}
	}
	p.parent = parent
	return nil
}
