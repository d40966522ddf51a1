// Package slurmcmd has the commands of Slurm: submit, status, collect, cancel, and the task that a node runs.
package slurmcmd

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// New makes the command slurm.
func New(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "slurm",
		Usage:     "run a batch of analyses as job arrays of Slurm",
		UsageText: "scidex-oci slurm submit|status|collect|cancel",
		Subcommands: []*cli.Command{
			newSubmit(p), newStatus(p), newCollect(p), newCancel(p), newTask(p),
		},
	}
}

// withSpool opens the spool that the one argument names, and calls do until a signal comes.
func withSpool(p *command.Program, c *cli.Context, do func(ctx context.Context, s slurm.Spool) error) error {
	given, err := command.Args(c, 1, 1)
	if err != nil {
		return err
	}
	if err := p.Load(c); err != nil {
		return err
	}
	s, err := slurm.Open(options.Absolute(p.Options.Dir, given[0]))
	if err != nil {
		return err
	}
	return command.UntilStopped(c.Context, func(ctx context.Context) error { return do(ctx, s) })
}

func newCancel(p *command.Program) *cli.Command {
	o := &cancelOptions{}
	return &cli.Command{
		Name:      "cancel",
		Usage:     "end what is left of a submission",
		UsageText: "scidex-oci slurm cancel [--now] SPOOL",
		ArgsUsage: "SPOOL",
		Description: `What has not started never starts. An analysis that runs gets SIGTERM and has its grace; what it has written is harvested,
and "scidex-oci slurm collect" commits it as canceled. With --now the jobs are canceled in Slurm, which kills what is still there
after its KillWait (30 s by default): what is not delivered by then is reported as canceled, without outputs.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			return withSpool(p, c, func(ctx context.Context, s slurm.Spool) error { return runCancel(ctx, p, s, *o) })
		},
	}
}

// cancelOptions are the options of slurm cancel.
type cancelOptions struct {
	now bool
}

func (o *cancelOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.now, "now", "cancel the jobs in Slurm: what does not end within its KillWait is killed"),
	)
}

func runCancel(ctx context.Context, p *command.Program, s slurm.Spool, o cancelOptions) error {
	tasks, err := s.Tasks(ctx)
	if err != nil {
		return err
	}
	waiting, running := 0, 0
	for _, t := range tasks {
		switch {
		case t.Waits():
			waiting++
		case !t.Ended():
			running++
		}
	}
	if err := s.Cancel(ctx, tasks, o.now); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s that waited canceled, %s that ran asked to end; \"scidex-oci slurm collect\" reports their results\n",
		format.Count(waiting, "task", "tasks"), format.Count(running, "task", "tasks"))
	return err
}
