package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
	"github.com/scidex-ai/scidex-oci/spec"
)

func newSlurmSubmit(p *command.Program) *cli.Command {
	o := &slurmSubmitOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:      "submit",
		Usage:     "submit the lines of a file as job arrays",
		UsageText: "scidex-oci slurm submit --spool DIR [flags of run] FILE|-",
		ArgsUsage: "FILE, or - for standard input",
		Description: `The lines are those of "scidex-oci batch", and flags are their defaults. All are looked at first: if one is bad, nothing is
submitted. Each becomes a task of a job array; lines with the same needs share one. A task gets --mem of the memory limit and
128 MiB for scidex-oci itself, --cpus-per-task of the CPU limit, rounded up, and --time of timeout and grace, with room for start
and harvest. Slurm's SIGTERM comes before its time limit, so that a run ends with its harvest. Limits are those of Slurm's own
control groups (--limits outer) unless the lines say otherwise; the result says what held.

DIR is made. It has to be on a file system that the nodes see by the same path, as all files that the lines name. A node needs
scidex-oci at the same path, and neither catalog nor database: tasks write their results to DIR, from which
"scidex-oci slurm collect DIR" commits them. Nothing of this command's environment gets to the nodes. See docs/slurm.md.

Prints DIR, or with --json what status --json prints. Exit codes: 0 Slurm has all lines, 125 it has none.`,
		Flags:  o.flags(p.Options),
		Action: func(c *cli.Context) error { return runSlurmSubmit(c, p, o) },
	}
}

// slurmSubmission is one call of slurm submit.
type slurmSubmission struct {
	program *command.Program
	parser  runflags.Parser
	request runflags.Request
	call    slurm.Call
	options *slurmSubmitOptions
	left    error // what is left of a submission that failed
}

func runSlurmSubmit(c *cli.Context, p *command.Program, o *slurmSubmitOptions) error {
	given, err := command.Args(c, 1, 1)
	if err != nil {
		return err
	}
	if err := p.Load(c); err != nil {
		return err
	}
	s := &slurmSubmission{program: p, options: o, parser: runflags.NewParser(p, c, o.run)}
	s.parser.Words, s.parser.Elsewhere = nil, true
	if s.request, err = s.parser.Options(); err != nil {
		return err
	}
	if err := runflags.Refuse(c.Command.Flags, "slurm submit", notOfSlurm); err != nil {
		return err
	}
	if s.call, err = o.callOf(p.Options); err != nil {
		return err
	}
	if !o.dryRun {
		if err := slurm.Available(); err != nil {
			return err
		}
	}
	lines, err := runflags.OpenLines(s.parser, given[0])
	if err != nil {
		return err
	}
	defer lines.Close() //nolint:errcheck // it was only read
	all, survey, err := lines.Gather(slurm.CheckAnalysis, runflags.TellBad(p, s.request.JSON))
	if err != nil {
		return err
	}
	if survey.Bad > 0 {
		return fmt.Errorf("slurm submit: %s of %d cannot be run, see above; nothing was submitted", format.Count(survey.Bad, "line", "lines"), survey.Lines)
	}
	if len(all) == 0 {
		return fmt.Errorf("slurm submit: %s has no line to submit", lines.Name)
	}
	for i := range all {
		all[i].Analysis.Limits = cmp.Or(all[i].Analysis.Limits, spec.LimitsOuter)
	}
	if o.dryRun {
		return s.print(all)
	}
	err = command.UntilStopped(c.Context, func(ctx context.Context) error { return s.submit(ctx, lines, all) })
	return cmp.Or(s.left, err)
}

// print prints the scripts. It touches nothing.
func (s *slurmSubmission) print(all []dispatch.Line) error {
	of := slurm.Submission{Name: "scidex-oci-dry-run", Arrays: slurm.ArraysOf(all)}
	for k := range of.Arrays {
		if _, err := fmt.Fprint(s.program.Stdout, of.Script(k, s.call)); err != nil {
			return err
		}
	}
	return nil
}

// submit makes the spool and submits its arrays to Slurm. On failure nothing is left of either, or it is noted.
func (s *slurmSubmission) submit(ctx context.Context, from *runflags.Lines, all []dispatch.Line) error {
	of := slurm.NewSubmission(all, s.request.NoAudit)
	lines, err := s.bind(ctx, of, from, all)
	if err != nil {
		return err
	}
	spool, err := of.Start(ctx, s.call, lines, s.options.arguments())
	if errors.Is(err, slurm.ErrLeft) {
		s.left = fmt.Errorf("slurm submit: %w; end them with \"scidex-oci slurm cancel %s\" before you remove that", err, format.ShellQuote(spool.Dir))
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if !s.request.JSON {
		_, err = fmt.Fprintln(s.program.Stdout, screen.Escape(spool.Dir))
		return err
	}
	status, err := slurm.ReadOverview(ctx, spool)
	if err != nil {
		return fmt.Errorf("all of it is submitted, but: %w", err)
	}
	return screen.WriteJSON(s.program.Stdout, status)
}

// bind opens the stores only as long as the lines are bound to them.
func (s *slurmSubmission) bind(ctx context.Context, of *slurm.Submission, from *runflags.Lines, all []dispatch.Line) (lines []spooled.Line, err error) {
	st, err := s.program.OpenStores(ctx, s.program.Stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	return of.Bind(ctx, st.Host, all, from.At)
}
