package app

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// newSlurmCommand makes the command slurm.
func newSlurmCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "slurm",
		Usage:     "run a batch of analyses as job arrays of Slurm",
		UsageText: "scidex-oci slurm submit|status|collect|cancel",
		Subcommands: []*cli.Command{
			newSlurmSubmit(p), newSlurmStatus(p), newSlurmCollect(p), newSlurmCancel(p), newSlurmTask(p),
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

func newSlurmCancel(p *command.Program) *cli.Command {
	o := &slurmCancelOptions{}
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
			return withSpool(p, c, func(ctx context.Context, s slurm.Spool) error { return runSlurmCancel(ctx, p, s, *o) })
		},
	}
}

// slurmCancelOptions are the options of slurm cancel.
type slurmCancelOptions struct {
	now bool
}

func (o *slurmCancelOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.now, "now", "cancel the jobs in Slurm: what does not end within its KillWait is killed"),
	)
}

func runSlurmCancel(ctx context.Context, p *command.Program, s slurm.Spool, o slurmCancelOptions) error {
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
