package app

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

func newSlurmStatus(p *command.Program) *cli.Command {
	o := &slurmStatusOptions{}
	return &cli.Command{
		Name:      "status",
		Usage:     "show the state of the lines of a submission",
		UsageText: "scidex-oci slurm status [--json] SPOOL",
		ArgsUsage: "SPOOL",
		Description: `Each line is queued, running, delivered (its result waits for collect), collected, or ended: its task is gone and left no
result, and collect says why. It needs no catalog and changes nothing.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			return withSpool(p, c, func(ctx context.Context, s slurm.Spool) error { return runSlurmStatus(ctx, p, s, *o) })
		},
	}
}

// slurmStatusOptions are the options of slurm status.
type slurmStatusOptions struct {
	json bool
}

func (o *slurmStatusOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "print one JSON object"),
	)
}

func runSlurmStatus(ctx context.Context, p *command.Program, s slurm.Spool, o slurmStatusOptions) error {
	status, err := slurm.ReadOverview(ctx, s)
	if err != nil {
		return err
	}
	if o.json {
		return screen.WriteJSON(p.Stdout, status)
	}
	tw := tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "LINE\tID\tTASK\tSTANDS\tSLURM\tNODE\tRESULT")
	for _, line := range status.Lines {
		text := string(line.State)
		if line.Reason != "" {
			text += " (" + string(line.Reason) + ")"
		}
		if line.Late != "" {
			text += "; a second result came late: " + line.Late
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", line.Line, screen.Escape(line.ID), line.Task, line.Stands, screen.Escape(line.Slurm), screen.Escape(line.Node), screen.Escape(text))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s\n", status.Totalled())
	return err
}
