package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// notOfSubmit are flags of run that need a worker's host, and why submit refuses them.
var notOfSubmit = map[string]string{
	"again":           "it repeats no recorded run; submit the request under another id",
	"export":          `the outputs are in the catalog when it has ended; export them with "scidex-oci outputs export ID DIR"`,
	"overwrite":       "there is no export",
	"post-process":    "a worker calls no command of a user; call it when \"scidex-oci show ID --wait\" returns",
	"post-process-on": "a worker calls no command of a user",
	"events":          `the analysis runs elsewhere; see "scidex-oci queue show ID"`,
	"trace":           "the analysis runs elsewhere; trace a run of it",
}

// newSubmit makes the command submit.
func newSubmit(p *command.Program) *cli.Command {
	o := &submitOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:  "submit",
		Usage: "put an analysis, or a batch of them, into the queue for workers",
		UsageText: `scidex-oci submit [flags] [--] COMMAND [ARG...]
scidex-oci submit [flags] --script FILE [ARG...]
scidex-oci submit [flags] --file MANIFEST
scidex-oci submit [flags] --batch FILE|-`,
		Description: `The flags are those of run. The queue is in the PostgreSQL database of --db, and any scidex-oci worker on it may take
the analysis: files and directories are opened there by the same path, so they belong on a file system that all share;
images and runtimes have to be there under the same name, secrets in the worker's environment.

Prints the id, or with --json an object with id and attempt, for each analysis. Its run is in the catalog at once,
queued. A line of --batch is one of "scidex-oci batch"; either all of them are enqueued or, if one is bad, none.

A worker takes what has waited longest in the highest priority. With --unique nothing is queued if the very same analysis
waits or runs already: then its id is printed, and standard error says so.

An attempt that ends in an error of scidex-oci or the host, or whose worker dies, is followed by another. An analysis that
has failed is never repeated.

Exit codes of submit: 0 it is in the queue, 125 it is not.`,
		Flags:  o.flags(p.Options),
		Action: func(c *cli.Context) error { return runSubmit(c, p, o) },
	}
}

// submission is one call of submit.
type submission struct {
	program *command.Program
	parser  runflags.Parser
	request runflags.Request
	options *submitOptions
}

// submitted is what submit prints; docs/schema/submit.json describes it.
type submitted struct {
	ID      string        `json:"id"`
	Attempt int           `json:"attempt"`
	State   outcome.State `json:"state"`           // queued; of another one also running
	Other   bool          `json:"other,omitempty"` // an equal request was there already
}

func runSubmit(c *cli.Context, p *command.Program, o *submitOptions) error {
	err := p.Load(c)
	s := &submission{program: p, options: o, parser: runflags.NewParser(p, c, o.run)}
	s.parser.Elsewhere = true
	var bad error
	s.request, bad = s.parser.Options()
	if err = cmp.Or(err, bad, runflags.Refuse(c.Command.Flags, "submit", notOfSubmit), s.check()); err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	if o.batch.Value != "" {
		return s.batch(c.Context, o.batch.Value)
	}
	a, err := s.parser.Analysis(c.Context, nil)
	if err = cmp.Or(err, s.parser.Validate(a)); err != nil {
		return s.refuse(a, err)
	}
	if err := s.submit(c.Context, []spec.Analysis{a}, nil); err != nil {
		return s.refuse(a, err)
	}
	return nil
}

// check refuses what cannot be submitted, whatever the request.
func (s *submission) check() error {
	if batch := s.options.batch; batch.Given && len(s.parser.Words) > 0 {
		return command.Usagef("%s and a command both say what to run; give one of them", batch.Label)
	}
	return checkQueue(s.program)
}

// refuse answers --json with an object, as run does.
func (s *submission) refuse(a spec.Analysis, err error) error {
	var unread *command.UsageError
	if s.request.JSON && !errors.As(err, &unread) { // execute answers an invalid command line
		_ = screen.WriteJSON(s.program.Stdout, runner.Refused(a, requestError(err), s.program.Build.Version)) // the exit code tells too
	}
	return err
}

// requestError makes err a request.Error.
func requestError(err error) error {
	var refused *request.Error
	if errors.As(err, &refused) {
		return err
	}
	return &request.Error{Err: err}
}

// batch submits the lines of a file.
func (s *submission) batch(ctx context.Context, name string) error {
	lines, err := runflags.OpenLines(s.parser, name)
	if err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	defer lines.Close() //nolint:errcheck // it was only read
	good, survey, err := lines.Gather(exportRefused, runflags.TellBad(s.program, s.request.JSON))
	if err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	if survey.Bad > 0 {
		return fmt.Errorf("submit: %s of %d cannot be run, see above; nothing was enqueued", format.Count(survey.Bad, "line", "lines"), survey.Lines)
	}
	all := make([]spec.Analysis, len(good))
	for i, line := range good {
		all[i] = line.Analysis
	}
	at := func(i int, err error) error { return lines.At(good[i].Number, err) }
	if err := s.submit(ctx, all, at); err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	return nil
}

// exportRefused is why a manifest cannot request an export.
func exportRefused(a spec.Analysis) error {
	if a.Export == "" {
		return nil
	}
	return fmt.Errorf("export %q is not for submit: %s", a.Export, notOfSubmit["export"])
}

// submit enqueues analyses, all or none. at gives the location of one, nil for none.
func (s *submission) submit(ctx context.Context, all []spec.Analysis, at func(i int, err error) error) (err error) {
	for _, a := range all {
		if err := cmp.Or(exportRefused(a), a.Validate()); err != nil {
			return &request.Error{Err: err}
		}
	}
	st, err := s.program.OpenStores(ctx, s.program.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	q, err := st.OpenQueue(ctx)
	if err != nil {
		return err
	}
	jobs := make([]queue.Submission, len(all))
	for i, a := range all {
		jobs[i], err = s.job(ctx, st, a)
		if err != nil && at != nil {
			err = at(i, err)
		}
		if err != nil {
			return err
		}
	}
	placed, err := q.Submit(ctx, jobs)
	if errors.Is(err, catalog.ErrExists) {
		return &request.Error{Err: fmt.Errorf("%w: its id was taken by another run at the same moment; choose another", err)}
	}
	if err != nil {
		return err
	}
	return s.tell(jobs, placed)
}

// job is an analysis as the queue takes it.
func (s *submission) job(ctx context.Context, st *stores.Stores, a spec.Analysis) (queue.Submission, error) {
	row, err := plan.NewQueued(ctx, st.Host, a)
	if err != nil {
		return queue.Submission{}, err
	}
	job := s.options.terms()
	job.Run, job.NoAudit, job.Trace = row, s.request.NoAudit, traceOf(s.program.ParentSpan(st.Host.Log))
	return job, nil
}

// traceOf is a context as the queue has it.
func traceOf(c spans.Context) queue.Trace {
	if c.Trace == "" {
		return queue.Trace{}
	}
	texts := c.Variables()
	return queue.Trace{Parent: texts["TRACEPARENT"], State: texts["TRACESTATE"]}
}

func (s *submission) tell(jobs []queue.Submission, placed []queue.Placed) (err error) {
	for i, p := range placed {
		if p.Other {
			fmt.Fprintf(s.program.Stderr, "scidex-oci: what was to be %s is in the queue as %s already\n", screen.Escape(jobs[i].Run.ID), screen.Escape(p.Key.ID))
		}
		if s.request.JSON {
			err = screen.WriteJSON(s.program.Stdout, submitted{p.Key.ID, p.Key.Attempt, p.State, p.Other})
		} else {
			_, err = fmt.Fprintln(s.program.Stdout, screen.Escape(p.Key.ID))
		}
		if err != nil {
			return fmt.Errorf("all of it is in the queue, but: %w", err)
		}
	}
	return nil
}
