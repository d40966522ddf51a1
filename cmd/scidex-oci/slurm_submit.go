package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/request"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// notOfSlurm are flags of run that mean nothing on a node, and why slurm submit refuses them.
var notOfSlurm = map[string]string{
	"id":              `it names one run; give each line its own "id"`,
	"file":            "the manifests are the lines of the file; give that as the argument",
	"again":           "it repeats no recorded run; submit the request under another id",
	"export":          `the outputs are in the catalog after "scidex-oci slurm collect"; export them with "scidex-oci outputs export ID DIR"`,
	"overwrite":       "there is no export",
	"secret":          "its value would lie in a file of Slurm's with the environment of the job",
	"post-process":    "a node calls nobody's command; call it for what \"scidex-oci slurm collect\" prints",
	"post-process-on": "a node calls nobody's command",
	"events":          `the analyses run elsewhere; see "scidex-oci slurm status SPOOL"`,
	"trace":           "the analyses run elsewhere; trace a run of one of the lines",
}

func newSlurmSubmit(p *command.Program) *cli.Command {
	o := &slurmSubmitOptions{run: request.NewOptions(p)}
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

// slurmSubmitOptions are the options of slurm submit: those of run, as defaults for all lines, and its own.
type slurmSubmitOptions struct {
	run                *options.Run
	spool, program     string
	partition, account string
	dryRun             bool
	sbatch             []string
}

func (o *slurmSubmitOptions) flags(g *options.Global) []cli.Flag {
	flags := options.Hide(o.run.Flags(g), slices.Collect(maps.Keys(notOfSlurm))...)
	options.Hide(flags, "post-process-timeout", "min-free", "quiet")
	options.Describe(flags, "limits", "`outer|enforce|best-effort`: leave memory, CPUs and processes to Slurm's control groups (default), or refuse or hold as run does")
	options.Describe(flags, "json", "print one JSON object")
	return options.List(append(flags,
		options.Path(&o.spool, "spool", "make `DIR` for scripts, requests and results, on a file system that the nodes share"),
		options.Bool(&o.dryRun, "dry-run", "print the scripts and submit nothing"),
		options.Path(&o.program, "program", "call scidex-oci at `PATH` on the nodes (default: where this one is)"),
		options.String(&o.partition, "partition", "submit to the partition `NAME`"),
		options.String(&o.account, "account", "charge the account `NAME`"),
		options.Values(&o.sbatch, "sbatch", "give sbatch the option `ARG` too, one word, as --sbatch=--constraint=avx2; repeatable", readSbatch),
	)...)
}

func readSbatch(t options.Text) ([]string, error) {
	for _, arg := range t.Values {
		if err := slurm.CheckArgument(arg); err != nil {
			return nil, command.Usagef("%s: %s", t.Label, err)
		}
	}
	return t.Values, nil
}

// arguments are what sbatch is called with.
func (o *slurmSubmitOptions) arguments() (all []string) {
	if o.partition != "" {
		all = append(all, "--partition="+o.partition)
	}
	if o.account != "" {
		all = append(all, "--account="+o.account)
	}
	return append(all, o.sbatch...)
}

// slurmSubmission is one call of slurm submit.
type slurmSubmission struct {
	program *command.Program
	parser  request.Parser
	request request.Request
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
	s := &slurmSubmission{program: p, options: o, parser: request.NewParser(p, c, o.run)}
	s.parser.Words, s.parser.Elsewhere = nil, true
	if s.request, err = s.parser.Options(); err != nil {
		return err
	}
	if err := request.Refuse(c.Command.Flags, "slurm submit", notOfSlurm); err != nil {
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
	lines, err := request.OpenLines(s.parser, given[0])
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

// callOf is how a node calls this program.
func (o *slurmSubmitOptions) callOf(g *options.Global) (call slurm.Call, err error) {
	call = slurm.Call{Program: o.program, Spool: o.spool, Tmp: g.Tmp.Path("/tmp")}
	if call.Spool == "" {
		return call, command.Usagef("slurm submit needs --spool DIR, a directory to be made on a file system that the nodes share")
	}
	if call.Program == "" {
		if call.Program, err = os.Executable(); err != nil {
			return call, fmt.Errorf("%w; give --program PATH", err)
		}
	}
	return call, call.Validate()
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

func (s *slurmSubmission) tellBad(line batch.Line) {
	fmt.Fprintf(s.program.Stderr, "scidex-oci: %s\n", screen.Escape(line.Err.Error()))
	if s.request.JSON {
		_ = screen.WriteJSON(s.program.Stdout, runner.Refused(line.Analysis, &runner.RequestError{Err: line.Err}, s.program.Build.Version))
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
func (s *slurmSubmission) print(good []batch.Line) error {
	of := slurm.Submission{Name: "scidex-oci-dry-run", Arrays: arraysOf(good)}
	for k := range of.Arrays {
		if _, err := fmt.Fprint(s.program.Stdout, of.Script(k, s.call)); err != nil {
			return err
		}
	}
	return nil
}

// submit makes the spool and gives its arrays to Slurm. Where that fails nothing is left of either, or it is noted.
func (s *slurmSubmission) submit(ctx context.Context, from *request.Lines, good []batch.Line) (err error) {
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
	status, err := slurmStatusOf(ctx, spool)
	if err != nil {
		return fmt.Errorf("all of it is submitted, but: %w", err)
	}
	return screen.WriteJSON(s.program.Stdout, status)
}

// rows are the lines as the spool keeps them, each under the attempt that the catalog has free.
func (s *slurmSubmission) rows(ctx context.Context, of *slurm.Submission, from *request.Lines, good []batch.Line) (rows []slurm.Line, err error) {
	st, err := s.program.OpenStores(ctx, s.program.Stderr)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if of.CatalogID, _, err = st.Runner.Match(ctx); err != nil {
		return nil, err
	}
	if err := st.Runner.Bind(ctx); err != nil { // before there is anything to collect into it
		return nil, err
	}
	var bad error
	for _, line := range good {
		row, err := st.Runner.Queued(ctx, line.Analysis)
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

// inSpool is the absolute path of a spool without links, as it is for whoever binds it.
func inSpool(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
