package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/batch"
	"github.com/scidex-ai/scidex-oci/spec"
)

// notOfSubmit are flags of run that a worker's host would have to heed, and why submit refuses them.
var notOfSubmit = map[string]string{
	"again":           "it repeats no recorded run; submit the request under another id",
	"export":          `the outputs are in the catalog when it has ended; export them with "scidex-oci outputs export ID DIR"`,
	"overwrite":       "there is no export",
	"post-process":    "a worker calls nobody's command; call it where \"scidex-oci show ID --wait\" returns",
	"post-process-on": "a worker calls nobody's command",
	"events":          `the analysis runs elsewhere; see "scidex-oci queue show ID"`,
	"trace":           "the analysis runs elsewhere; trace a run of it",
}

// defaultRetries is how often an analysis is tried again for which a host or scidex-oci itself has failed.
const defaultRetries = 3

func newSubmitCommand(p *program) *cli.Command {
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
queued. A line of --batch is one of "scidex-oci batch"; either all of them are enqueued or, where one is bad, none.

An attempt that ends in an error of scidex-oci or the host, or whose worker dies, is followed by another. An analysis that
has failed is never repeated.

Exit codes of submit: 0 it is in the queue, 125 it is not.`,
		Flags:  submitFlags(),
		Action: func(c *cli.Context) error { return runSubmit(c, p) },
	}
}

func submitFlags() []cli.Flag {
	var flags []cli.Flag
	for _, flag := range runFlags() {
		name := flag.Names()[0]
		_, refused := notOfSubmit[name]
		refused = refused || name == "post-process-timeout" || name == "min-free" || name == "quiet"
		switch f := flag.(type) {
		case *cli.StringFlag:
			f.Hidden = f.Hidden || refused
		case *cli.BoolFlag:
			f.Hidden = f.Hidden || refused
			if f.Name == "json" {
				f.Usage = "print one JSON object for each analysis"
			}
		}
		flags = append(flags, flag)
	}
	return append(flags,
		&cli.StringFlag{Name: "batch", Usage: "submit a line of JSON each of `FILE`, or - for standard input; flags are their defaults"},
		&cli.StringFlag{Name: "retries", Usage: fmt.Sprintf("let up to `N` attempts follow that end in an error of scidex-oci or a host, after 1 s, 2 s, 4 s and so on (default: %d)", defaultRetries)},
	)
}

// submission is one call of submit.
type submission struct {
	program *program
	clerk   clerk
	order   order
	retries int
}

// submitted is what submit prints.
type submitted struct {
	ID      string        `json:"id"`
	Attempt int           `json:"attempt"`
	State   catalog.State `json:"state"` // queued
}

func runSubmit(c *cli.Context, p *program) error {
	from, err := p.layers(c)
	s := &submission{program: p, clerk: p.clerk(c, from)}
	s.clerk.elsewhere = true
	var bad error
	s.order, bad = s.clerk.options()
	if err = cmp.Or(err, bad, s.options()); err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	if name := from.text("batch", ""); name != "" {
		return s.batch(c.Context, name)
	}
	a, err := s.clerk.analysis(c.Context, nil)
	if err != nil {
		return s.refuse(a, err)
	}
	if err := s.submit(c.Context, []spec.Analysis{a}, nil); err != nil {
		return s.refuse(a, err)
	}
	return nil
}

// options refuses flags that mean nothing here, and reads those of submit.
func (s *submission) options() (err error) {
	from := s.clerk.layers
	for name, why := range notOfSubmit {
		if in, given := from.given(name); given && in.text(name) != "false" {
			return usagef("%s is not for submit: %s", in.label(name), why)
		}
	}
	s.retries = defaultRetries
	if _, given := from.given("retries"); given {
		if s.retries, err = from.count("retries", 0); err != nil {
			return err
		}
	}
	if in, given := from.given("batch"); given && len(s.clerk.words) > 0 {
		return usagef("%s and a command both say what to run; give one of them", in.label("batch"))
	}
	return s.program.queued(from)
}

// refuse answers --json with an object, as run does.
func (s *submission) refuse(a spec.Analysis, err error) error {
	var unread *usageError
	if s.order.json && !errors.As(err, &unread) { // execute answers what could not be understood
		_ = writeJSON(s.program.stdout, runner.Refused(a, requestError(err), s.program.build.version)) // the exit code tells too
	}
	return err
}

// requestError is err as that of a request.
func requestError(err error) error {
	var refused *runner.RequestError
	if errors.As(err, &refused) {
		return err
	}
	return &runner.RequestError{Err: err}
}

// batch submits the lines of a file.
func (s *submission) batch(ctx context.Context, name string) error {
	lines, err := openLines(s.clerk, name)
	if err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	defer lines.close() //nolint:errcheck // it was only read
	var all []spec.Analysis
	var numbers []int
	bad := 0
	seen := map[string]int{}
	for source := (named{lines.source()}); ; {
		line, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s.refuse(spec.Analysis{}, err)
		}
		if first, twice := seen[line.Analysis.ID]; line.Err == nil && twice {
			line.Err = lines.at(line.Number, fmt.Errorf("id %q is that of line %d already; give each line an id of its own", line.Analysis.ID, first))
		}
		if line.Err == nil {
			line.Err = lines.at(line.Number, exportRefused(line.Analysis))
		}
		if line.Err != nil {
			bad++
			s.tellBad(line)
			continue
		}
		seen[line.Analysis.ID] = line.Number
		all, numbers = append(all, line.Analysis), append(numbers, line.Number)
	}
	if bad > 0 {
		return fmt.Errorf("submit: %s of %d cannot be run, see above; nothing was enqueued", counted(bad, "line"), bad+len(all))
	}
	at := func(i int, err error) error { return lines.at(numbers[i], err) }
	if err := s.submit(ctx, all, at); err != nil {
		return s.refuse(spec.Analysis{}, err)
	}
	return nil
}

func (s *submission) tellBad(line batch.Line) {
	fmt.Fprintf(s.program.stderr, "scidex-oci: %s\n", escape(line.Err.Error()))
	if s.order.json {
		_ = writeJSON(s.program.stdout, runner.Refused(line.Analysis, &runner.RequestError{Err: line.Err}, s.program.build.version))
	}
}

// exportRefused is why a manifest cannot ask for an export.
func exportRefused(a spec.Analysis) error {
	if a.Export == "" {
		return nil
	}
	return fmt.Errorf("export %q is not for submit: %s", a.Export, notOfSubmit["export"])
}

// submit enqueues analyses, all or none. at says where one of them stands, nil for nowhere.
func (s *submission) submit(ctx context.Context, all []spec.Analysis, at func(i int, err error) error) (err error) {
	for _, a := range all {
		if err := cmp.Or(exportRefused(a), a.Validate()); err != nil {
			return &runner.RequestError{Err: err}
		}
	}
	h, err := s.program.open(ctx, s.clerk.layers, s.program.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	q, err := h.openQueue(ctx)
	if err != nil {
		return err
	}
	jobs := make([]queue.Submission, len(all))
	for i, a := range all {
		jobs[i], err = s.job(ctx, h, a)
		if err != nil && at != nil {
			err = at(i, err)
		}
		if err != nil {
			return err
		}
	}
	err = q.Submit(ctx, jobs)
	if errors.Is(err, catalog.ErrExists) {
		return &runner.RequestError{Err: fmt.Errorf("%w: its id was taken by another run at the same moment; choose another", err)}
	}
	if err != nil {
		return err
	}
	return s.tell(jobs)
}

// job is an analysis as the queue takes it.
func (s *submission) job(ctx context.Context, h *house, a spec.Analysis) (queue.Submission, error) {
	row, err := h.runner.Queued(ctx, a)
	if err != nil {
		return queue.Submission{}, err
	}
	var request spec.Analysis
	if err := json.Unmarshal(row.Request, &request); err != nil {
		return queue.Submission{}, err
	}
	request = request.WithDefaults()
	return queue.Submission{Run: row, Job: queue.Job{
		ID: row.ID, Request: row.Request, Memory: int64(request.Memory), CPUs: request.CPUs,
		Limit: time.Duration(request.Timeout) + time.Duration(request.Grace), Retries: s.retries, NoAudit: s.order.noAudit,
	}}, nil
}

func (s *submission) tell(jobs []queue.Submission) (err error) {
	for _, j := range jobs {
		if s.order.json {
			err = writeJSON(s.program.stdout, submitted{j.Run.ID, j.Run.Attempt, j.Run.State})
		} else {
			_, err = fmt.Fprintln(s.program.stdout, escape(j.Run.ID))
		}
		if err != nil {
			return fmt.Errorf("all of it is in the queue, but: %w", err)
		}
	}
	return nil
}
