package commands

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

func newQueueWorkers(p *command.Program) *cli.Command {
	var json bool
	return &cli.Command{
		Name:      "workers",
		Usage:     "list the workers that have a lease or analyses",
		UsageText: "scidex-oci queue workers [--json]",
		Description: `LEASE is "held" if the worker has renewed its lease in time, "silent" if it has not, and "none" if it has analyses and
no lease. What a silent worker has is given to others (--lease of worker).`,
		Flags: options.List(options.Bool(&json, "json", "one JSON object a line")),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, _ *stores.Stores) error { return listWorkers(c.Context, p, q, json) })
		},
	}
}

func listWorkers(ctx context.Context, p *command.Program, q queue.Queue, json bool) error {
	workers, err := q.Workers(ctx)
	if err != nil {
		return err
	}
	if json {
		for _, w := range workers {
			if err := screen.WriteJSON(p.Stdout, w); err != nil {
				return err
			}
		}
		return nil
	}
	tw := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "WORKER\tLEASE\tANALYSES\tRENEWED")
	for _, w := range workers {
		renewed := "-"
		if w.RenewedAt != nil {
			renewed = screen.LocalTime(*w.RenewedAt)
		}
		fmt.Fprintf(tw, "%s\t%s\t%d\t%s\n", screen.Escape(w.Worker), w.Lease, w.Jobs, renewed)
	}
	return tw.Flush()
}
