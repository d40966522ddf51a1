package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
)

const batchExitCodes = `Exit codes of batch:
  0    all lines are complete
  1    some have failed, or were stopped one by one
  125  some ended in an error of scidex-oci or the host, or the batch could not be run
  129, 130, 131, 143  it was drained by SIGHUP, SIGINT, SIGQUIT or SIGTERM`

// newBatchCommand makes the command batch.
func newBatchCommand(p *command.Program) *cli.Command {
	o := &batchOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:      "batch",
		Usage:     "run many analyses, a line of JSON each",
		UsageText: "scidex-oci batch [flags of run] [--jobs N] [--resume | --rerun WHICH] FILE|-\nscidex-oci batch --sweep NAME=VALUES... [flags of run] -- COMMAND [ARG...]",
		ArgsUsage: "FILE, or - for standard input",
		Description: `Each line of FILE is one JSON object: a manifest like that of run --file. The flags of this command are its
defaults; a field of the line wins. Blank lines are skipped; relative paths are relative to the file. A file is checked whole before the
first start, also for scripts, inputs and images that do not exist: if a line is bad, all bad lines are named, each
result has its number as "line", and nothing is run. Standard input is read as it comes, and with --resume what a line
names may be gone: there a bad line becomes a result, error (request), and the others run.

Each line has one result on standard output, in the order in which they end: the JSON object of run --json, or on a
terminal without --json a line for a person. With JSON, standard error has a line for each result that is not complete,
unless --quiet is given. If other runs have the ids of lines, or lines have changed, one line says so. What analyses print is only in their logs (scidex-oci logs ID).

The first SIGINT, SIGQUIT, SIGTERM or SIGHUP drains: nothing is started any more, and what runs is asked to end, and killed after its
grace period, or at once by a second signal. scidex-oci stop ID ends only one run. With --fail-fast or --max-failures
nothing more is started after that many failures, and what runs comes to its end.

--resume needs an "id" on each line. A line that is complete or has failed is not run again: its recorded result is
printed and counts for the exit code. A line that ended in an error, was canceled or lost is run again as the next
attempt. If only its post-process command has failed, only that command is called again. A line whose request has
changed is refused, and the message says what has changed; a change of labels does not count.

--rerun includes --resume, and also runs lines again that have ended, as the next attempt, with the request and the script as they are now.
Earlier attempts are kept. With failed these are the lines whose last attempt is not complete, with changed those whose
request or script is not that of their last attempt, with all every line. No other line is refused because it has
changed. The contents of data, inputs, projects and images are not compared: after a change of these give all.

--sweep makes the lines instead of reading FILE: one for each combination of the values. The values of the last --sweep
change first. NAME=VALUES is a list, lr=0.1,0.01, or a range of integers, seed=0..199 or n=0..100..10. Each line has its
values as arguments after those of the command or script, --seed 0 --lr 0.1, and as labels. The label "sweep" has the name
of the sweep, that of --label sweep=NAME or a new one. The id of a line is made of its values and that name. So a sweep
with a name can go on with --resume or --rerun, also with more values, and scidex-oci table --label sweep=NAME joins its
outputs. A sweep has at most 1000000 lines.

--export DIR writes the outputs of each run to DIR/ID and scidex-result.json after them, when it is committed, whatever the
state; if a line has an "export" of its own, they are written only there. If DIR/ID has all of a run, nothing is written again;
with --resume the outputs of a complete run that are missing there are written. A line that would run again is refused if
DIR/ID has another attempt, unless --overwrite is given. If an export fails, its line is an error; the catalog keeps the
run as it ended.

` + batchExitCodes,
		Flags:  o.flags(p.Options),
		Action: func(c *cli.Context) error { return runBatch(c, p, o) },
	}
}

// batchInvocation is one batch from the command line to the summary.
type batchInvocation struct {
	program   *command.Program
	request   runflags.Request
	options   *batchOptions
	lines     *runflags.Lines
	stores    *stores.Stores
	logs      stores.BlobOpener // of what was committed, for the report
	pool      *warm.Pool
	screen    *screen.Terminal
	progress  *screen.Progress
	suspended dispatch.SuspendGroup
	report    *results.Lines
	junit     *junitReport // nil: none
	to        eventsTarget
	events    *eventsWriter  // nil: none
	below     *deliver.Below // of --export, nil: none
	failures  batchFailures
	changed   atomic.Bool // a line that was refused because it has changed is printed
	named     plan.Named
	apart     bool // no two lines overlap
	unnamed   bool // a line has no id
	idle      int  // see batch.Batch
}

func runBatch(c *cli.Context, p *command.Program, o *batchOptions) (err error) {
	if err := cmp.Or(p.Load(c), runflags.Refuse(c.Command.Flags, "a batch", notOfBatch), o.merge()); err != nil {
		return err
	}
	b := &batchInvocation{program: p, options: o, screen: screen.NewTerminal(p.Stderr, p.Env)}
	if b.to, err = readEventsTarget(o.run.Events, false); err != nil {
		return err
	}
	k := runflags.NewParser(p, c, o.run)
	if b.request, err = k.Options(); err != nil {
		return err
	}
	if b.lines, err = o.open(c, k); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.lines.Close()) }()
	b.report = results.NewLines(p, b.screen, b.request.JSON)
	b.report.NameFailures(!b.request.Quiet)
	return b.run(c.Context)
}

// run reads all lines, and runs them if none is bad.
func (b *batchInvocation) run(ctx context.Context) (err error) {
	settings, err := stores.ReadSettings(b.program.Options, b.program.Env)
	if err != nil {
		return err
	}
	if err := b.checkKind(); err != nil {
		return err
	}
	b.named = plan.Named{Root: settings.Root, Overwrite: b.request.Overwrite}
	survey, err := b.lines.Survey(b.check, func(line dispatch.Line) { b.report.Bad(line.Number, line.Analysis, line.Err) })
	if err != nil {
		return err
	}
	if survey.Bad > 0 {
		return fmt.Errorf("batch: %s of %d cannot be run, see above; nothing was started", format.Count(survey.Bad, "line", "lines"), survey.Lines)
	}
	machine := admission.ReadFree()
	if b.options.jobs == 0 {
		b.options.jobs = machine.Runs(survey.Largest)
	}
	if err := b.fit(survey); err != nil {
		return err
	}
	b.idle = machine.Idle(b.options.jobs, survey.Largest)
	if b.pool, err = warm.NewPool(ctx, b.lines.Under.Limits); err != nil {
		return err
	}
	defer b.pool.Close()
	if b.events, err = openEvents(b.program, b.to); err != nil {
		return err
	}
	defer b.closeEvents()
	if err := b.openJUnit(); err != nil {
		return err
	}
	if b.options.export != "" {
		if b.below, err = deliver.OpenBelow(b.options.export, b.request.Overwrite); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.below.Close()) }()
	}
	if err := b.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stores.Close()) }()
	b.progress = screen.NewProgress(b.status(), survey.Lines, b.options.jobs)
	return b.close(b.perform(ctx, b.source()), survey.Lines)
}

// open opens catalog and blob store. With --resume, lines are judged by their rows, so what killed launchers left is recovered first.
func (b *batchInvocation) open(ctx context.Context) (err error) {
	if b.stores, err = b.program.OpenStores(ctx, b.screen); err != nil {
		return err
	}
	b.logs = b.stores.BlobOpener(ctx)
	if !b.options.resume {
		recovery.CommitPending(ctx, b.stores.Host)
	} else if err := recovery.Recover(ctx, b.stores.Host); err != nil {
		return errors.Join(err, b.stores.Close())
	}
	recovery.Tidy(ctx, b.stores.Host)
	return nil
}

// status is the progress output: none with --quiet.
func (b *batchInvocation) status() *screen.Terminal {
	if b.request.Quiet {
		return screen.NoTerminal(nil)
	}
	return b.screen
}

// perform runs the lines.
func (b *batchInvocation) perform(ctx context.Context, source batch.Source) batch.Summary {
	signals, _ := command.StopSignals() // to the end of this process
	defer command.IgnoreNextStop(signals)
	defer command.HandleSuspend(&b.suspended)()
	defer b.screen.ClearStatus()
	all := batch.Batch{
		Work: b.work(), Jobs: b.options.jobs, MaxFailures: b.options.maxFailures, Overlap: b.overlap(), Idle: b.idle,
		Asked: func(id string) []int64 { return watch.AskedToStop(b.stores.Host, id) }, Draining: b.progress.Drain, Ended: b.ended,
		Abandon: func(s request.StopSignal) { os.Exit(s.ExitCode) },
	}
	return all.Run(ctx, source, signals)
}

// say prints a line on standard error.
func (b *batchInvocation) say(text string) {
	if !b.request.Quiet {
		fmt.Fprintf(b.screen, "scidex-oci: %s\n", screen.Escape(text))
	}
}

// closeEvents waits until all events are written, and prints why they were not.
func (b *batchInvocation) closeEvents() {
	if b.events == nil {
		return
	}
	if err := b.events.Close(); err != nil {
		b.say(err.Error())
	}
}

// check refuses a line before the first start. With --resume, it needs an id; what it names may be gone if it is complete.
func (b *batchInvocation) check(line dispatch.Line) error {
	b.unnamed = b.unnamed || line.Analysis.ID == ""
	switch {
	case !b.options.resume:
		return cmp.Or(b.named.Check(line.Analysis), b.checkExport(line))
	case line.Analysis.ID == "":
		return batch.ErrNoID
	}
	return nil
}

// checkExport refuses a line whose directory below that of --export is in use, before anything runs.
func (b *batchInvocation) checkExport(line dispatch.Line) error {
	if b.options.export == "" || line.Analysis.Export != "" {
		return nil
	}
	named := b.named
	named.Overwrite = named.Overwrite || line.Analysis.ID == "" // an id that will be made is new there
	return named.Check(spec.Analysis{Export: filepath.Join(b.options.export, line.Analysis.ID)})
}

// ended prints the result of a line.
func (b *batchInvocation) ended(line dispatch.Line, o dispatch.LineResult) {
	b.addJUnit(line, o)
	if o.Taken() || o.Changed && !o.Passed && b.changed.Swap(true) { // what the summary, or the first such line, says once
		b.report.PrintJSON(line.Number, o.Result)
	} else {
		b.report.Print(line.Number, o.Result, o.Passed)
		b.annotate(line, o)
		b.failures.add(line, o)
	}
	b.progress.End(line.Number, func(c *screen.Counts) {
		switch batch.ExitCode(o.Result) {
		case 0:
			c.Complete++
		case 1:
			c.Failed++
		default:
			c.Errors++
		}
		if o.Passed {
			c.Skipped++
		}
	})
}

// close prints the summary, and returns the error or exit code of the batch.
func (b *batchInvocation) close(s batch.Summary, total int) error {
	b.nameFailures()
	b.say(b.summary(s, total))
	if err := errors.Join(s.Err, b.closeJUnit(s), b.report.Err()); err != nil {
		return err
	}
	if code := s.ExitCode(); code != 0 {
		return command.ExitStatus(code)
	}
	return nil
}
