package app

import (
	"context"
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
)

func newSlurmTask(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "task",
		Hidden:    true, // what the script of an array calls
		Usage:     "run one line of a submission on a node and deliver its result",
		UsageText: "scidex-oci slurm task SPOOL ARRAY TASK",
		ArgsUsage: "SPOOL ARRAY TASK",
		Action:    func(c *cli.Context) error { return runSlurmTask(c, p) },
	}
}

func runSlurmTask(c *cli.Context, p *command.Program) error {
	stop, _ := command.StopSignals() // first of all: Slurm's signal may come at once
	given, err := command.Args(c, 3, 3)
	if err != nil {
		return err
	}
	if err := p.Load(c); err != nil {
		return err
	}
	t, err := readSlurmTask(p.Options, given)
	if err != nil {
		return err
	}
	t.Stop, t.Version, t.Open = stop, p.Build.Version, openSlurmRoot(p)
	t.Ended = func(state, message string) error {
		_, err := fmt.Fprintf(p.Stdout, "line %d  %s  %s  %s\n", t.Line.Number, screen.Escape(t.Line.Key().String()), state, screen.Escape(message))
		return err
	}
	t.Unswept = func(err error) {
		fmt.Fprintf(p.Stderr, "scidex-oci: what a killed task left on this node: %s\n", screen.Escape(err.Error()))
	}
	code, err := t.Run(c.Context)
	if err != nil || code == 0 {
		return err
	}
	return command.ExitStatus(code)
}

// readSlurmTask reads the spool, the array and the task that the arguments name.
func readSlurmTask(g *options.Global, given []string) (*spooled.Task, error) {
	array, err1 := strconv.Atoi(given[1])
	task, err2 := strconv.Atoi(given[2])
	if err1 != nil || err2 != nil {
		return nil, command.Usagef("slurm task: %q and %q are to be the numbers of an array and of its task", given[1], given[2])
	}
	s, err := slurm.Open(given[0])
	if err != nil {
		return nil, err
	}
	return s.Task(array, task, g.Tmp.Path("/tmp"))
}

// openSlurmRoot opens a root of the node. Of the user's settings it uses the policy and the log level.
func openSlurmRoot(p *command.Program) func(ctx context.Context, root string) (*spooled.Node, error) {
	return func(ctx context.Context, root string) (*spooled.Node, error) {
		given, err := stores.ReadPolicy(p.Options, p.Env, p.OpenNet)
		if err != nil {
			return nil, err
		}
		s, err := stores.PrivateSettings(root, p.Options)
		if err != nil {
			return nil, err
		}
		st, err := stores.Open(ctx, s, given, p.Build.Version, p.Stderr)
		if err != nil {
			return nil, err
		}
		return &spooled.Node{Host: st.Host, Store: store.Store{Catalog: st.Catalog, Blobs: st.Blobs}, Close: st.Close}, nil
	}
}
