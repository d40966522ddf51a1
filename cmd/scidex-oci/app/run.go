package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

func newRunCommand(p *command.Program) *cli.Command {
	o := runflags.NewOptions(p)
	return &cli.Command{
		Name:  "run",
		Usage: "run an analysis, harvest and commit its outputs",
		UsageText: `scidex-oci run [flags] [--] COMMAND [ARG...]
scidex-oci run [flags] --script FILE [ARG...]
scidex-oci run [flags] --file MANIFEST
scidex-oci run [flags] --again ID
scidex-oci run --shell ID`,
		Description: `What follows the first word that is no flag belongs to the command. A command given here replaces
the manifest's command or script. Lists given by flags replace the manifest's; variables, secrets and
labels are added to it.

If the standard input of this command is a pipe, a socket or a file, it is passed on to the analysis. If the
analysis reads more than 64 MiB of it, the run is an error. What the analysis has read is kept with the run, and
--again passes it on again, unless you give another input. What the analysis does not read from a pipe is lost, so a
loop over a pipe needs </dev/null. A terminal is not passed on. With --detach or --file - the standard input is empty.

--detach waits until the analysis has started or is refused. If it has started, the exit code of this command is 0, and
the result has that of the run. What the analysis prints is only in the logs, and what a post-process command prints is
only in the result. The run has the current directory, the environment and the umask of this command. It ignores a
hangup (SIGHUP).

` + exitCodes,
		Flags:  options.List(append(o.Flags(p.Options), o.DetachFlag(), o.ReuseFlag(), o.ShellFlag())...),
		Action: func(c *cli.Context) error { return runRun(c, p, o) },
	}
}

// runRun runs one analysis. --json prints one object in any case.
func runRun(c *cli.Context, p *command.Program, o *options.Run) error {
	err := p.Load(c)
	if err == nil && o.Shell != "" {
		return runShell(c, p, o)
	}
	s := &invocation{program: p, parser: runflags.NewParser(p, c, o), screen: screen.NewTerminal(p.Stderr, p.Env), drop: func() {}}
	s.request, s.err = s.parser.Options()
	to, bad := readEventsTarget(o.Events, p.Caller != nil)
	s.err = cmp.Or(err, s.err, bad)
	if s.request.Detach && s.err == nil && p.Caller == nil {
		return s.detach(to)
	}
	if bad == nil {
		s.events, bad = openEvents(p, to)
		s.err = cmp.Or(s.err, bad)
	}
	s.trace, bad = newTrace(o.Trace, p.AsksForSpans(), p.Began, p.Main)
	s.err = cmp.Or(s.err, bad)
	result, err := s.run(s.trace.with(c.Context))
	_ = lockdir.SweepContentOf(s.request.Analysis.Script, s.request.Analysis.Stage) // else gc does it
	return s.end(result, err)
}

// end reports the end, in the events and in the result.
func (s *invocation) end(result result.Result, err error) error {
	about := map[string]string{"id": result.ID, "state": string(result.State), "version": s.program.Build.Version}
	if lost := s.trace.write(about); lost != nil {
		s.tell(&result, lost.Error())
	}
	s.finish(&result)
	return s.report(result, err)
}

// invocation is one run from the command line to the table.
type invocation struct {
	program *command.Program
	parser  runflags.Parser
	request runflags.Request
	screen  *screen.Terminal
	err     error // of the command line
	start   warm.Start
	drop    func() // what start gives, if no run took it
	stores  *stores.Stores
	events  *eventsWriter // nil: none
	trace   *traceFile    // nil: none
}

// run makes the request and runs it. The result is complete also with an error.
func (s *invocation) run(ctx context.Context) (result.Result, error) {
	err := s.prepare(ctx)
	defer s.close() //nolint:errcheck // the result is committed or it says that it is not
	defer s.drop()
	if err != nil {
		return runner.Refused(s.request.Analysis, err, s.program.Build.Version), err
	}
	if word := s.idleShell(); word != "" && !s.request.Quiet {
		fmt.Fprintf(s.program.Stderr, "scidex-oci: %s has nothing to read: a terminal is not passed on; \"scidex-oci run --shell ID\" opens a shell, a pipe or --script FILE gives it commands\n", word)
	}
	ready := s.trace.span("take up streams and signals")
	stdout, stderr := screen.NewStream(s.program.Stdout.File, s.screen), screen.NewStream(s.program.Stderr, s.screen)
	if s.request.JSON {
		stdout = screen.NewStream(s.program.Stderr, s.screen)
	}
	stop, _ := command.StopSignals() // to the end of this process
	defer command.IgnoreNextStop(stop)
	suspender := &suspend.Suspender{}
	defer command.HandleSuspend(suspender)()
	after := screen.NewStream(s.program.Stderr, s.screen)
	if s.request.Hook != nil {
		s.request.Hook.Output = after
	}
	asked := request.Request{
		Analysis: s.request.Analysis, Switches: s.request.Switches, Again: s.request.Again, Reuse: s.request.Reuse, AnyScript: s.request.AnyScript,
		Stdin: s.stdin(), Stdout: stdout, Stderr: stderr, Caller: s.parser.Caller(),
		Hook: s.request.Hook, Observe: s.observe, Waiting: s.waiting(), Stop: stop, Suspender: suspender,
	}
	if s.request.Detach {
		s.outliveCaller(&asked)
	}
	ready()
	result, err := runner.New(s.stores.Host, s.start).Run(ctx, asked)
	closed := s.trace.span("close the streams")
	lost := errors.Join(stdout.Close(), stderr.Close(), after.Close())
	s.screen.ClearStatus()
	closed()
	if lost != nil {
		s.tell(&result, fmt.Sprintf("not all of the analysis' output could be passed on: %v; what is kept is in the logs", lost))
	}
	return result, err
}

// tell adds a warning to the result, and prints it if the result is not shown.
func (s *invocation) tell(result *result.Result, warning string) {
	result.Warnings = append(result.Warnings, warning)
	if s.request.Quiet && !s.request.JSON {
		fmt.Fprintf(s.screen, "scidex-oci: %s\n", screen.Escape(warning))
	}
}

// prepare makes the request and, if valid, opens catalog and blob store: an invalid one touches nothing.
func (s *invocation) prepare(ctx context.Context) error {
	a, err := s.parser.Analysis(ctx, s.find)
	s.request.Analysis = a
	if err = cmp.Or(s.err, err); err == nil && s.request.Reuse {
		a, err = s.request.ForReuse(a)
		s.request.Analysis = a
	}
	if err == nil {
		err = s.parser.Validate(a)
	}
	if err != nil {
		return &request.Error{Err: err}
	}
	s.trace.read()
	started, err := warm.Begin(ctx, a.Limits)
	if err != nil {
		return err
	}
	s.start, s.drop = started.Given()
	return s.open(ctx)
}

func (s *invocation) find(ctx context.Context, name string) (catalog.Run, error) {
	if err := s.open(ctx); err != nil {
		return catalog.Run{}, err
	}
	return s.stores.Catalog.Find(ctx, name)
}

func (s *invocation) open(ctx context.Context) (err error) {
	if s.stores == nil {
		opened := s.trace.span("open the catalog")
		s.stores, err = s.program.OpenStores(ctx, s.screen)
		opened()
		if err == nil {
			defer s.trace.span("see to what killed runs left")()
			recovery.CommitPending(ctx, s.stores.Host)
			recovery.Tidy(ctx, s.stores.Host) // before the run: its id may be that of a dead one
		}
	}
	return err
}

func (s *invocation) close() error {
	if s.stores == nil {
		return nil
	}
	defer s.trace.span("close the catalog")()
	return s.stores.Close()
}

// observe shows what happens and passes it on.
func (s *invocation) observe(e event.Event) error {
	if usage, ok := e.Data.(event.Usage); ok && !s.request.Quiet && !s.request.Detach {
		s.screen.SetStatus(screen.StatusLine(e.ID, usage))
	}
	if started, ok := e.Data.(result.Result); ok && s.request.Detach {
		s.letGo(started)
	}
	if s.events == nil {
		return nil
	}
	return s.events.Put(e)
}

// finish reports the end and waits until all events are written.
func (s *invocation) finish(result *result.Result) {
	if s.events == nil {
		return
	}
	_ = s.events.Finish(*result) // close has its error
	if err := s.events.Close(); err != nil && !slices.Contains(result.Warnings, err.Error()) {
		s.tell(result, err.Error())
	}
}

func (s *invocation) waiting() func(what string) {
	if s.request.Quiet {
		return nil
	}
	return s.screen.SetStatus
}

// report prints the result and returns the process' exit status.
func (s *invocation) report(result result.Result, err error) error {
	if s.request.JSON {
		if err := screen.WriteJSON(s.program.Stdout, result); err != nil {
			return fmt.Errorf("result of %q: %s; see \"scidex-oci show\"", result.ID, err.Error()) // said, also if nothing reads any more
		}
	}
	if result.ReusedFrom != "" {
		fmt.Fprintf(s.program.Stderr, "scidex-oci: reused: %s ran the same before and is complete; nothing was run\n", result.ReusedFrom)
	}
	tabled := !s.request.JSON && !s.request.Quiet && (err == nil || result.StartedAt != nil)
	if tabled {
		s.table().Summary(result)
	}
	switch {
	case err != nil:
		return withHints(err, result.Hints)
	case !tabled && (result.State == outcome.Error || !s.request.JSON && endedByOthers(result)):
		fmt.Fprintf(s.program.Stderr, "scidex-oci: %s\n", screen.Escape(result.Message))
	}
	if result.ExitCode == 0 {
		return nil
	}
	return command.ExitStatus(result.ExitCode)
}

// endedByOthers reports whether a run was ended, so that its analysis could not say why.
func endedByOthers(r result.Result) bool {
	return r.State.Final() && r.State != outcome.Complete && r.Reason != outcome.ReasonExit
}

func (s *invocation) table() results.Table {
	return results.Table{
		Table: screen.NewTable(s.program.Stderr, s.program.Stderr, s.program.Env), Program: s.program.CallLine(), Accustomed: !s.request.NamesLimits,
	}
}

// withHints adds to a refusal what to do about it.
func withHints(err error, hints []result.Hint) error {
	for _, hint := range hints {
		err = fmt.Errorf("%w; %s", err, hint.Message)
	}
	return err
}
