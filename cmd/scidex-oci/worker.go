package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/batch"
	"github.com/scidex-ai/scidex-oci/runner/worker"
	"github.com/scidex-ai/scidex-oci/spec"
)

const (
	defaultDrain  = time.Minute
	defaultRescue = 10 * time.Minute
)

func newWorkerCommand(p *program) *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "take analyses from the queue and run them",
		UsageText: "scidex-oci worker [--jobs N] [--total-memory SIZE] [--total-cpus N] [--class NAME]... [--labels K=V]... [--metrics ADDRESS]",
		Description: `Runs until a signal ends it. Each analysis is a run like any other, with a line on standard output when it has ended: the
JSON object of run --json, or on a terminal without --json a line for a person.

Analyses are let in while their limits together are within --total-memory and --total-cpus. One that finds no room here
goes back for other workers, and so does one that asks for a label, an image or a runtime that is not here.

The first SIGINT, SIGQUIT, SIGTERM or SIGHUP drains: nothing is taken any more, and what runs may go on for --drain. Then, or with
the second signal, it is ended with its grace, and the queue has it again. The third ends this process at once.

A worker that died has its analyses given to others once their timeout, their grace and --rescue-after are over. All
workers of a queue should have the same --rescue-after; it has to cover the start, the harvest and the commit of a run.

With --metrics, GET /metrics answers in the text format of Prometheus, and GET /healthz 200 while analyses are taken, 503 while
the worker drains. Whoever comes there is answered, without TLS: give 127.0.0.1:PORT, or close the port to others.

With --log-level info there is a line of the log when an analysis is taken, and one when it has ended.

Exit codes of worker: 0 drained, 125 it could not work.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "take up to `N` analyses at once (default: as many with the limits that an analysis has by default as there is room for)"},
			&cli.StringFlag{Name: "total-memory", Usage: "grant all analyses together `SIZE` (default: the memory that is free at the start, or the less that control groups leave)"},
			&cli.StringFlag{Name: "total-cpus", Usage: "grant all analyses together a `NUMBER` of cores (default: those that there are, or the less that control groups leave)"},
			&cli.StringSliceFlag{Name: "class", Usage: "take analyses of this class `NAME`, and not those of others; repeatable (default: default)"},
			&cli.StringSliceFlag{Name: "labels", Usage: "have the label `K=V`, for analyses that ask for it with --require; repeatable"},
			&cli.StringFlag{Name: "drain", Usage: "let what runs go on for `DURATION` after the first signal, 0 for not at all (default: 1m)"},
			&cli.StringFlag{Name: "rescue-after", Usage: "take an analysis for stuck `DURATION` after its timeout and grace (default: 10m)"},
			&cli.StringFlag{Name: "limits", Usage: "`enforce|outer|best-effort`: what is made ready before the first analysis is known; each has limits of its own"},
			p.options.MinFreeFlag(),
			&cli.StringFlag{Name: "metrics", Usage: "serve metrics at `ADDRESS`, HOST:PORT; :PORT is every address of this host, and port 0 any that is free, which the log tells at info (default: none)"},
			&cli.BoolFlag{Name: "json", Usage: "print results as JSON lines also where standard output is a terminal", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			if _, err := words(c, 0, 0); err != nil {
				return err
			}
			return p.withQueue(c, func(q queue.Queue, h *house, from layers) error { return p.work(c.Context, q, h, from) })
		},
	}
}

// work works on the queue until it is drained.
func (p *program) work(ctx context.Context, q queue.Queue, h *house, from layers) error {
	w, err := workerOf(from)
	if err != nil {
		return err
	}
	asJSON, err := from.on("json")
	if err != nil {
		return err
	}
	scraped, err := listen(from)
	if err != nil {
		return err
	}
	defer scraped.close()
	if err := h.runner.Recover(ctx); err != nil { // what a worker before has left may be results
		return err
	}
	h.runner.Tidy(ctx)
	crew, err := runner.Muster(ctx, from.text("limits", spec.LimitsEnforce))
	if err != nil {
		return err
	}
	defer crew.Close()
	report := newBatchReport(p, newConsole(p.stderr, p.env), order{json: asJSON})
	w.Runner, w.Queue, w.Begin, w.Log = h.runner, q, crew.Begin, h.runner.Log
	w.Told = func(result runner.Result, err error) {
		report.line(batch.Line{}, batch.Outcome{Result: result, Err: err})
	}
	working, now := drains(ctx)
	w.Options.Now = now
	unserve := scraped.serve(working, w, p.build)
	return errors.Join(w.Work(working), unserve(), report.lost())
}

// drains returns a context that ends with the first signal, and what is closed with the second. The third ends the
// process.
func drains(ctx context.Context) (working context.Context, now <-chan struct{}) {
	signals, _ := stops() // to the end of this process
	working, drain := context.WithCancel(ctx)
	hurry := make(chan struct{})
	go func() {
		<-signals
		drain()
		<-signals
		close(hurry)
		os.Exit((<-signals).ExitCode)
	}()
	return working, hurry
}

// workerOf reads the flags of a worker.
func workerOf(from layers) (w *worker.Worker, err error) {
	w = &worker.Worker{}
	w.Capacity = runner.ReadCapacity()
	if in, given := from.given("total-memory"); given {
		size, err := spec.ParseSize(in.text("total-memory"))
		if err != nil {
			return w, fmt.Errorf("%s: %w", in.label("total-memory"), err)
		}
		w.Capacity.Memory = int64(size)
	}
	if in, given := from.given("total-cpus"); given {
		if w.Capacity.CPUs, err = spec.ParseCPUs(in.text("total-cpus")); err != nil {
			return w, fmt.Errorf("%s: %w", in.label("total-cpus"), err)
		}
	}
	if in, given := from.given("limits"); given {
		if known := []string{spec.LimitsEnforce, spec.LimitsOuter, spec.LimitsBestEffort}; !slices.Contains(known, in.text("limits")) {
			return w, fmt.Errorf("%s %q: give one of %s", in.label("limits"), in.text("limits"), strings.Join(known, ", "))
		}
	}
	if w.Options.Classes, err = classesOf(from); err != nil {
		return w, err
	}
	if w.Labels, err = labelsOf(from, "labels"); err != nil {
		return w, err
	}
	usual := spec.Analysis{}.WithDefaults()
	if w.Options.Jobs, err = from.count("jobs", 1); err != nil {
		return w, err
	}
	if w.Options.Jobs == 0 {
		w.Options.Jobs = w.Capacity.Runs(int64(usual.Memory), usual.CPUs)
	}
	if w.Options.Drain, err = from.duration("drain", defaultDrain, 0); err != nil {
		return w, err
	}
	w.Options.RescueAfter, err = from.duration("rescue-after", defaultRescue, time.Second)
	return w, err
}

// classesOf are those that a worker takes.
func classesOf(from layers) (classes []string, err error) {
	in, _ := from.given("class")
	for _, class := range in.values["class"] {
		if err := queue.ValidateClass(class); err != nil {
			return nil, fmt.Errorf("%s: %w", in.label("class"), err)
		}
		classes = append(classes, class)
	}
	return classes, nil
}

// labelsOf are the K=V of a flag.
func labelsOf(from layers, name string) (map[string]string, error) {
	in, given := from.given(name)
	if !given {
		return nil, nil
	}
	r := reader{layer: in}
	return r.pairs(name, nil), r.err
}

// duration is the value of a flag that takes one.
func (l layers) duration(name string, otherwise, least time.Duration) (time.Duration, error) {
	in, given := l.given(name)
	if !given {
		return otherwise, nil
	}
	d, err := time.ParseDuration(in.text(name))
	if err != nil || d < least {
		return 0, fmt.Errorf("%s %q: give a duration of at least %v, as 90s or 10m", in.label(name), in.text(name), least)
	}
	return d, nil
}
