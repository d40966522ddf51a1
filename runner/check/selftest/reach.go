package selftest

import (
	"context"
	"os"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/target"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/trials"
)

// launcherVariable is in the launcher's environment and must be in no run's.
const launcherVariable = "SCIDEX_OCI_SELFTEST_CANARY"

// reach lets one canary try to reach everything, and two canaries look for each other. It returns the result of the first.
func reach(ctx context.Context, s *session, targets []target.Target) (main result.Result, err error) {
	secret := probe.RandomName("")
	if err := os.Setenv(launcherVariable, secret); err != nil {
		return main, err
	}
	defer os.Unsetenv(launcherVariable)
	trials, err := outside(ctx, s, targets)
	if err != nil {
		return main, err
	}
	p := pair{session: s, trials: trials}
	if err := p.launch(ctx, secret); err != nil {
		return main, err
	}
	if err := p.meet(ctx); err != nil {
		return main, err
	}
	p.judgeAll()
	return p.canaries[0].Result, nil
}

// outside makes all controls before a canary starts. Only the targets get packets beyond this host: listeners on it prove
// that DNS is unreachable.
func outside(ctx context.Context, s *session, targets []target.Target) ([]trials.Trial, error) {
	if len(targets) == 0 {
		targets = []target.Target{target.Default}
	}
	reaching, notes := trials.Targets(ctx, targets)
	s.record.Note(notes...)
	listening, listeners, err := trials.Listeners()
	s.listeners = listeners
	if err != nil {
		return nil, err
	}
	all := slices.Concat(reaching, listening, trials.Writes(s.view))
	if s.view.Analysis.Requests() {
		all = append(all, trials.ByProxy(slices.Concat(reaching, listening))...)
	}
	return all, context.Cause(ctx)
}
