package limits

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
)

// Groups is where control groups can be made, or why not.
type Groups struct {
	root   bool // the caller is
	parent *cgroup.Parent
	err    error
}

// errNoSupervisor is the error of Groups for a supervisor that has not started. The run says why.
var errNoSupervisor = errors.New("there is no supervisor to make a scope for")

// Find finds where this process can make control groups. Call it before there are other processes in its group, which then could not be
// prepared.
func Find(ctx context.Context, root bool) Groups {
	g := Groups{root: root}
	g.parent, g.err = cgroup.Find(ctx, cgroup.System{Root: root})
	return g
}

// WantScope reports whether control groups need a scope of systemd.
func (g Groups) WantScope() bool {
	var missing *cgroup.MissingError
	return errors.As(g.err, &missing) && missing.Unified
}

// Scope asks systemd for a scope around a supervisor; 0 is the pid of one that has not started.
func (g Groups) Scope(ctx context.Context, supervisor int) Groups {
	var missing *cgroup.MissingError
	if supervisor == 0 || !errors.As(g.err, &missing) {
		return Groups{err: errNoSupervisor}
	}
	g.parent, g.err = cgroup.Scope(ctx, cgroup.System{Root: g.root}, missing, supervisor)
	return g
}

// Warm keeps the kernel ready for the move into a control group for a while, at most until ctx ends.
func (g Groups) Warm(ctx context.Context) {
	if g.parent != nil {
		g.parent.Warm(ctx)
	}
}
