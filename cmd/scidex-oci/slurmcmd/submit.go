package slurmcmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

func newSubmit(p *command.Program) *cli.Command {
	o := &submitOptions{run: runflags.NewOptions(p)}
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
		Action: func(c *cli.Context) error { return runSubmit(c, p, o) },
	}
}

// submission is one call of slurm submit.
type submission struct {
	program *command.Program
	parser  runflags.Parser
	request runflags.Request
	call    slurm.Call
	options *submitOptions
	left    error // what is left of a submission that failed
}

func runSubmit(c *cli.Context, p *command.Program, o *submitOptions) error {
	given, err := command.Args(c, 1, 1)
	if err != nil {
		return err
	}
	if err := p.Load(c); err != nil {
		return err
	}
	s := &submission{program: p, options: o, parser: runflags.NewParser(p, c, o.run)}
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
	good, bad, err := lines.Gather(checkSlurm, s.tellBad)
	if err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("slurm submit: %s of %d cannot be run, see above; nothing was submitted", screen.Count(bad, "line"), bad+len(good))
	}
	if len(good) == 0 {
		return fmt.Errorf("slurm submit: %s has no line to submit", lines.Name)
	}
	for i := range good {
		good[i].Analysis.Limits = cmp.Or(good[i].Analysis.Limits, spec.LimitsOuter)
	}
	if o.dryRun {
		return s.print(good)
	}
	err = command.UntilStopped(c.Context, func(ctx context.Context) error { return s.submit(ctx, lines, good) })
	return cmp.Or(s.left, err)
}

// checkSlurm refuses what no node could do.
func checkSlurm(a spec.Analysis) error {
	switch {
	case a.Export != "":
		return fmt.Errorf("export %q is not for slurm submit: %s", a.Export, notOfSlurm["export"])
	case len(a.Secrets) > 0:
		return fmt.Errorf("secret %q is not for slurm submit: %s", a.Secrets[0], notOfSlurm["secret"])
	case a.Rootfs != "" && a.Rootfs != "host" && !a.RootfsDirectory():
		return fmt.Errorf("rootfs %q: a node has no images; give the directory of an unpacked root filesystem that the nodes share", a.Rootfs)
	}
	inputs, err := a.ParseInputs()
	if err != nil {
		return err
	}
	for _, input := range inputs {
		if _, blob := input.Digest(); blob {
			return fmt.Errorf(`input %q: a node takes files and directories alone; put it into one that the nodes share, with "scidex-oci outputs cat" or "scidex-oci outputs export", and name that`, input.Source)
		}
	}
	return nil
}

func (s *submission) tellBad(line batch.Line) {
	fmt.Fprintf(s.program.Stderr, "scidex-oci: %s\n", screen.Escape(line.Err.Error()))
	if s.request.JSON {
		_ = screen.WriteJSON(s.program.Stdout, runner.Refused(line.Analysis, &request.Error{Err: line.Err}, s.program.Build.Version))
	}
}

// arrays puts the lines into arrays.
func arraysOf(good []batch.Line) []slurm.Array {
	sized := make([]slurm.Sized, len(good))
	for i, line := range good {
		sized[i] = slurm.Sized{Number: line.Number, Size: slurm.SizeOf(line.Analysis)}
	}
	return slurm.Arrays(sized)
}

// print prints the scripts. It touches nothing.
func (s *submission) print(good []batch.Line) error {
	of := slurm.Submission{Name: "scidex-oci-dry-run", Arrays: arraysOf(good)}
	for k := range of.Arrays {
		if _, err := fmt.Fprint(s.program.Stdout, of.Script(k, s.call)); err != nil {
			return err
		}
	}
	return nil
}

// submit makes the spool and submits its arrays to Slurm. On failure nothing is left of either, or it is noted.
func (s *submission) submit(ctx context.Context, from *runflags.Lines, good []batch.Line) (err error) {
	of := slurm.Submission{
		Name: "scidex-oci-" + rand.Text()[:10], SubmittedAt: time.Now().UTC(), UID: os.Geteuid(), NoAudit: s.request.NoAudit, Arrays: arraysOf(good),
	}
	rows, err := s.rows(ctx, &of, from, good)
	if err != nil {
		return err
	}
	spool, err := slurm.Create(s.call.Spool, of, rows)
	if err != nil {
		return fmt.Errorf("slurm submit: %w; nothing was submitted", err)
	}
	for k := range of.Arrays {
		err = errors.Join(err, os.WriteFile(spool.ScriptPath(k), []byte(of.Script(k, s.call)), 0o600))
	}
	if err == nil {
		err = spool.Submit(ctx, s.options.arguments())
	}
	if errors.Is(err, slurm.ErrLeft) {
		s.left = fmt.Errorf("slurm submit: %w; end them with \"scidex-oci slurm cancel %s\" before you remove that", err, spool.Dir)
		return context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("slurm submit: %w; nothing was submitted", err), os.RemoveAll(spool.Dir))
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

// rows are the lines for the spool, each with the next free attempt of the catalog.
func (s *submission) rows(ctx context.Context, of *slurm.Submission, from *runflags.Lines, good []batch.Line) (rows []slurm.Line, err error) {
	st, err := s.program.OpenStores(ctx, s.program.Stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if of.CatalogID, _, err = store.Match(ctx, st.Host.Catalog, st.Host.Blobs); err != nil {
		return nil, err
	}
	if err := store.Bind(ctx, st.Host.Catalog, st.Host.Blobs); err != nil { // before there are results to collect
		return nil, err
	}
	var bad error
	for _, line := range good {
		row, err := plan.NewQueued(ctx, st.Host, line.Analysis)
		if err != nil {
			bad = errors.Join(bad, from.At(line.Number, err))
			continue
		}
		rows = append(rows, slurm.Line{
			Number: line.Number, ID: row.ID, Attempt: row.Attempt, CreatedAt: row.CreatedAt.Truncate(time.Millisecond), Labels: row.Labels, Request: row.Request,
		})
	}
	if bad != nil {
		return nil, fmt.Errorf("%w; nothing was submitted", bad)
	}
	return rows, nil
}
