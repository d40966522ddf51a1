package warm

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// Groups is where control groups can be made, or why not.
type Groups struct {
	Parent *cgroup.Parent
	Err    error
}

// ErrNoSupervisor is the error of Groups for a supervisor that has not started. The run says why.
var ErrNoSupervisor = errors.New("there is no supervisor to make a scope for")

func findGroups(ctx context.Context, account idmap.Account) (g Groups) {
	g.Parent, g.Err = cgroup.Find(ctx, cgroup.System{Root: account.Root()})
	return g
}

// wantScope reports whether control groups need a scope of systemd.
func (g Groups) wantScope() bool {
	var missing *cgroup.MissingError
	return errors.As(g.Err, &missing) && missing.Unified
}

// scope asks systemd for a scope around the supervisor.
func (g Groups) scope(ctx context.Context, account idmap.Account, supervisor sandbox.Supervisor) Groups {
	var missing *cgroup.MissingError
	if supervisor == nil || !errors.As(g.Err, &missing) {
		return Groups{Err: ErrNoSupervisor}
	}
	g.Parent, g.Err = cgroup.Scope(ctx, cgroup.System{Root: account.Root()}, missing, supervisor.Pid())
	return g
}

// warm prepares the move into a control group; the function it returns ends that.
func (g Groups) warm() (cool func()) {
	if g.Parent == nil {
		return func() {}
	}
	return g.Parent.Warm()
}
