package selftest

import (
	"context"
	"os"
)

// The roles of the two canaries that live at the same time; they end the ids of their runs.
const (
	roleReach     = "reach"
	roleNeighbour = "neighbour"
)

// launcherVariable is in the launcher's environment and must be in no run's.
const launcherVariable = "SCIDEX_OCI_SELFTEST_CANARY"

// reach lets one canary try to reach everything, and two look for each other.
func (t *test) reach(ctx context.Context) (err error) {
	if t.secret, err = token(); err != nil {
		return err
	}
	if err := os.Setenv(launcherVariable, t.secret); err != nil {
		return err
	}
	defer os.Unsetenv(launcherVariable)
	probes, err := t.outside(ctx)
	if err != nil {
		return err
	}
	p := pair{test: t, probes: probes}
	if err := p.launch(ctx); err != nil {
		return err
	}
	if err := p.meet(); err != nil {
		return err
	}
	t.main = p.members[0].result
	p.judge()
	return nil
}

// outside makes all controls, before any canary starts. It sends nothing beyond this host but to the targets;
// that DNS is out of reach is proven on listeners of ours.
func (t *test) outside(ctx context.Context) ([]probe, error) {
	probes := t.targets(ctx)
	ours, err := t.listeners()
	if err != nil {
		return nil, err
	}
	probes = append(probes, ours...)
	return append(probes, t.writes()...), t.crew.interrupted()
}
