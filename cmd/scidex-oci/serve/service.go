package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// ServiceOptions say what a service runs, and how.
type ServiceOptions struct {
	Run  *options.Run // the defaults of all requests
	Jobs int          // at once; 0: as memory and processors have room for
}

// Service is an engine with all that it needs, from the command line to its end. Close it.
type Service struct {
	Program *command.Program
	Lines   *runflags.Lines // parses requests
	Stores  *stores.Stores
	Engine  *engine.Engine

	request   runflags.Request
	pool      *warm.Pool
	suspended dispatch.SuspendGroup
	account   *admission.Account // nil: Jobs counts the runs
}

// NewService opens all that runs need.
func NewService(c *cli.Context, p *command.Program, o ServiceOptions) (s *Service, err error) {
	s = &Service{Program: p}
	k := runflags.NewParser(p, c, o.Run)
	if s.request, err = k.Options(); err != nil {
		return nil, err
	}
	if s.Lines, err = runflags.OpenLines(k, "-"); err != nil {
		return nil, err
	}
	how, err := s.fit(o.Jobs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Command.Name, err)
	}
	if s.pool, err = warm.NewPool(c.Context, s.Lines.Under.Limits); err != nil {
		return nil, err
	}
	if err := s.open(c.Context, how); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// open opens the stores and makes the engine.
func (s *Service) open(ctx context.Context, how admission.Options) (err error) {
	if s.Stores, err = s.Program.OpenStores(ctx, s.Program.Stderr); err != nil {
		return err
	}
	runs := dispatch.Runs{
		Host: s.Stores.Host, Pool: s.pool,
		Switches: s.request.Switches, Caller: s.Lines.Caller(),
		Suspended: &s.suspended,
	}
	if s.request.Hook != nil {
		runs.Hook = s.hook
	}
	s.Engine = engine.New(ctx, engine.Options{Runs: runs, Admission: how})
	return nil
}

// Close ends what New has started, and returns err with what failed in that.
func (s *Service) Close(err error) error {
	s.Engine.Close()
	s.pool.Close()
	return errors.Join(err, s.account.Close(), s.Stores.Close())
}

// hook is the post-process command of a run. What it writes goes to standard error.
func (s *Service) hook(dispatch.Line) (hook *request.Hook, done func()) {
	own := *s.request.Hook
	own.Output = s.Program.Stderr
	return &own, func() {}
}

// HandleSignals drains with the first signal, stops all runs with the second and ends the process with the third. drained is
// called when the last run has ended.
func (s *Service) HandleSignals(drained func()) (done func()) {
	unsuspend := command.HandleSuspend(&s.suspended)
	unnotify := command.OnStopSignals(s.Engine.Signal, func(signal request.StopSignal) {
		s.Stores.Host.Log.Info("no new runs are taken", "signal", signal.Name)
		s.Engine.Drain()
		go func() {
			s.Engine.WaitAll()
			drained()
		}()
	}, s.Engine.StopAll)
	return func() {
		unsuspend()
		unnotify()
	}
}
