package selftest

import (
	"context"
	"os"
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
)

// launcherVariable is in the launcher's environment and must be in no run's.
const launcherVariable = "SCIDEX_OCI_SELFTEST_CANARY"

// reach lets one canary try to reach everything, and two canaries look for each other.
func (t *test) reach(ctx context.Context) (err error) {
	t.secret = probe.RandomName("")
	if err := os.Setenv(launcherVariable, t.secret); err != nil {
		return err
	}
	defer os.Unsetenv(launcherVariable)
	trials, err := t.outside(ctx)
	if err != nil {
		return err
	}
	p := pair{test: t, trials: trials}
	if err := p.launch(ctx); err != nil {
		return err
	}
	if err := p.meet(ctx); err != nil {
		return err
	}
	t.main = p.canaries[0].Result
	p.judgeAll()
	return nil
}

// outside makes all controls before a canary starts. Only the targets get packets beyond this host: listeners on it prove
// that DNS is unreachable.
func (t *test) outside(ctx context.Context) ([]trial, error) {
	targets, notes := targetTrials(ctx, t.options.Targets)
	t.report.Notes = append(t.report.Notes, notes...)
	listening, listeners, err := listenerTrials()
	t.listeners = listeners
	if err != nil {
		return nil, err
	}
	return slices.Concat(targets, listening, t.view.writeTrials()), context.Cause(ctx)
}
