package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
	"github.com/scidex-ai/scidex-oci/spec"
)

const (
	defaultDrain  = time.Minute
	defaultRescue = 10 * time.Minute
)

func newWorkerCommand(p *command.Program) *cli.Command {
	o := &workerOptions{}
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
		Flags: o.flags(p.Options),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, st *stores.Stores) error { return runWorker(c.Context, p, q, st, *o) })
		},
	}
}

// workerOptions are the options of worker.
type workerOptions struct {
	jobs               int
	totalMemory        spec.Size
	totalCPUs          float64
	class              []string
	labels             map[string]string
	drain, rescueAfter time.Duration
	limits             string
	metrics            options.Text
	json               bool
}

func (o *workerOptions) flags(g *options.Global) []cli.Flag {
	o.drain, o.rescueAfter, o.limits = defaultDrain, defaultRescue, spec.LimitsEnforce
	return options.List(
		options.Count(&o.jobs, "jobs", "take up to `N` analyses at once (default: as many with the limits that an analysis has by default as there is room for)", 1, "j"),
		options.Parsed(&o.totalMemory, "total-memory", "grant all analyses together `SIZE` (default: the memory that is free at the start, or the less that control groups leave)", spec.ParseSize),
		options.Parsed(&o.totalCPUs, "total-cpus", "grant all analyses together a `NUMBER` of cores (default: those that there are, or the less that control groups leave)", spec.ParseCPUs),
		options.Values(&o.class, "class", "take analyses of this class `NAME`, and not those of others; repeatable (default: default)", readClasses),
		options.Pairs(&o.labels, "labels", "have the label `K=V`, for analyses that ask for it with --require; repeatable"),
		options.Duration(&o.drain, "drain", "let what runs go on for `DURATION` after the first signal, 0 for not at all (default: 1m)", 0),
		options.Duration(&o.rescueAfter, "rescue-after", "take an analysis for stuck `DURATION` after its timeout and grace (default: 10m)", time.Second),
		options.Choice(&o.limits, "limits", "`enforce|outer|best-effort`: what is made ready before the first analysis is known; each has limits of its own", spec.LimitsEnforce, spec.LimitsOuter, spec.LimitsBestEffort),
		g.MinFreeFlag(),
		options.Given(&o.metrics, "metrics", "serve metrics at `ADDRESS`, HOST:PORT; :PORT is every address of this host, and port 0 any that is free, which the log tells at info (default: none)"),
		options.Bool(&o.json, "json", "print results as JSON lines also where standard output is a terminal"),
	)
}

// runWorker works on the queue until it is drained.
func runWorker(ctx context.Context, p *command.Program, q queue.Queue, st *stores.Stores, o workerOptions) error {
	w := o.worker()
	scraped, err := listen(o.metrics)
	if err != nil {
		return err
	}
	defer scraped.close()
	if err := st.Runner.Recover(ctx); err != nil { // what a worker before has left may be results
		return err
	}
	st.Runner.Tidy(ctx)
	crew, err := runner.Muster(ctx, o.limits)
	if err != nil {
		return err
	}
	defer crew.Close()
	report := results.NewLines(p, screen.NewTerminal(p.Stderr, p.Env), o.json)
	w.Runner, w.Queue, w.Begin, w.Log = st.Runner, q, crew.Begin, st.Runner.Log
	w.Told = func(result result.Result, _ error) {
		report.Print(0, result, false)
	}
	working, now := drains(ctx)
	w.Options.Now = now
	unserve := scraped.serve(working, w, p.Build)
	return errors.Join(w.Work(working), unserve(), report.Err())
}

// drains returns a context that ends with the first signal, and what is closed with the second. The third ends the
// process.
func drains(ctx context.Context) (working context.Context, now <-chan struct{}) {
	signals, _ := command.StopSignals() // to the end of this process
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

// worker is a worker with these options.
func (o *workerOptions) worker() *worker.Worker {
	w := &worker.Worker{Capacity: runner.ReadCapacity(), Labels: o.labels}
	if o.totalMemory > 0 {
		w.Capacity.Memory = int64(o.totalMemory)
	}
	if o.totalCPUs > 0 {
		w.Capacity.CPUs = o.totalCPUs
	}
	usual := spec.Analysis{}.WithDefaults()
	w.Options.Classes, w.Options.Drain, w.Options.RescueAfter, w.Options.Jobs = o.class, o.drain, o.rescueAfter, o.jobs
	if o.jobs == 0 {
		w.Options.Jobs = w.Capacity.Runs(int64(usual.Memory), usual.CPUs)
	}
	return w
}

// readClasses reads the classes that a worker takes.
func readClasses(t options.Text) ([]string, error) {
	for _, class := range t.Values {
		if err := queue.ValidateClass(class); err != nil {
			return nil, t.Wrap(err)
		}
	}
	return t.Values, nil
}
