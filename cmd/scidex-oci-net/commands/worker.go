package commands

import (
	"context"
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// newWorker makes the command worker.
func newWorker(p *command.Program) *cli.Command {
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
the second signal, it is ended with its grace, and the queue has it again. The third ends this process at once. "scidex-oci stop ID"
ends only that run, which does not come again.

A worker that is silent for longer than --lease has its analyses given to others, by a worker that has renewed its own lease for
twice as long; times are those of the database. If the database was away, no worker loses what it runs. With --lease 0 it is
not before their timeout, their grace and --rescue-after are over. All workers of a queue should have the same
--rescue-after; it has to cover the start, the harvest and the commit of a run.

With --metrics, GET /metrics answers in the text format of Prometheus, and GET /healthz 200 while analyses are taken, 503 while
the worker drains. It answers everyone who can reach it, without TLS: give 127.0.0.1:PORT, or close the port to others.

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

// runWorker works on the queue until it is drained.
func runWorker(ctx context.Context, p *command.Program, q queue.Queue, st *stores.Stores, o workerOptions) error {
	w := o.worker()
	scraped, err := listenForScrapes(o.metrics)
	if err != nil {
		return err
	}
	defer scraped.close()
	if err := recovery.Recover(ctx, st.Host); err != nil { // what an earlier worker left may be results
		return err
	}
	recovery.Tidy(ctx, st.Host)
	pool, err := warm.NewPool(ctx, o.limits)
	if err != nil {
		return err
	}
	defer pool.Close()
	report := results.NewLines(p, screen.NewTerminal(p.Stderr, p.Env), o.json)
	w.Host, w.Queue, w.Start, w.Log = st.Host, q, pool.Begin, st.Host.Log
	w.Ended = func(result result.Result, _ error) {
		report.Print(0, result, false)
	}
	working, drain := context.WithCancel(ctx)
	now := make(chan struct{})
	w.Options.Now = now
	command.OnStopSignals(w.Signal, func(request.StopSignal) { drain() }, func(request.StopSignal) { close(now) }) // to the end of this process
	unserve := scraped.serve(working, w, p.Build)
	return errors.Join(w.Work(working), unserve(), report.Err())
}
