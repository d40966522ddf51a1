package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/host/headroom"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// fail kills what still runs after a sandbox error, so that nothing is cleaned under a living process. A stop request
// before the start is no failure: then it returns nil.
func (e *execution) fail(ctx context.Context, err error) *phase.Failure {
	err = underlying(e.Space.Supervisor, err)
	if e.Space.Supervisor != nil {
		e.Space.Warn(e.Space.Supervisor.Close())
	}
	e.Space.Warn(e.salvage())
	err = e.Plan.Base.Aftercare(ctx, err)
	var stopped *request.StoppedError
	if errors.As(err, &stopped) {
		e.stops.first, e.stops.at = &stopped.Signal, e.Space.Date(time.Now())
		return nil
	}
	var stdin *stdinError
	reason := outcome.ReasonSandbox
	switch {
	case errors.Is(err, sandbox.ErrLost):
		reason = outcome.ReasonSupervisorLost
	case errors.As(err, &stdin):
		reason = outcome.ReasonRequest
	}
	return &phase.Failure{Reason: reason, Err: headroom.Explain(err)}
}

// supervisorDeath is how long a supervisor that was killed may take to end after its children, far more than it needs.
const supervisorDeath = 10 * time.Second

// underlying is ErrLost if the supervisor is dead: then other failures are consequences, such as a process that no longer
// exists when it is put into its control group. That dies with the thread that started it, before the supervisor's others.
func underlying(supervisor sandbox.Session, err error) error {
	var stopped *request.StoppedError
	if supervisor == nil || errors.Is(err, sandbox.ErrLost) || errors.As(err, &stopped) {
		return err
	}
	within := time.Duration(0)
	if errors.Is(err, unix.ESRCH) {
		within = supervisorDeath
	}
	if !supervisor.Died(within) {
		return err
	}
	return fmt.Errorf("%w: %w", sandbox.ErrLost, err)
}
