package app

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/replay"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// runShell is `run --shell`.
func runShell(c *cli.Context, p *command.Program, o *options.Run) error {
	for _, name := range c.LocalFlagNames() {
		if name != "shell" {
			return command.Usagef("--shell takes all of the recorded request: leave --%s out", name)
		}
	}
	if c.Args().Present() {
		return command.Usagef("--shell runs a shell: leave the command %q out, and type it there", c.Args().First())
	}
	in, ok := p.Stdin.(*os.File)
	if !ok || !screen.IsTerminal(in) || !screen.IsTerminal(p.Stdout.File) {
		return command.Usagef("--shell needs a terminal as standard input and output")
	}
	return p.WithTidyStores(c, func(st *stores.Stores) error {
		run, err := watch.Find(c.Context, st.Host, o.Shell)
		if err != nil {
			return err
		}
		return openShell(c, p, st, run, in)
	})
}

func openShell(c *cli.Context, p *command.Program, st *stores.Stores, run catalog.Run, in *os.File) error {
	pair, err := openPTY()
	if err != nil {
		return err
	}
	var detach func() error
	stop, _ := command.StopSignals()
	defer command.IgnoreNextStop(stop)
	res, err := replay.Shell(c.Context, st.Host, run, replay.ShellOptions{
		Run: runner.New(st.Host, warm.Begin).Run, Terminal: pair.Slave, Stop: stop,
		Begin: func(command []string, files string) (err error) {
			fmt.Fprintf(p.Stderr, "scidex-oci: a shell like run %s, with %s in /work; nothing is kept. It ran: %s\n",
				run.Key, files, screen.CommandLine(command))
			detach, err = pair.Attach(in, p.Stdout.File)
			return err
		},
	})
	if detach != nil {
		if failed := detach(); err == nil {
			err = failed
		}
	}
	if err != nil {
		return withHints(err, res.Hints)
	}
	return shellStatus(p, res)
}

// shellStatus is the exit status of a shell, or what ended it.
func shellStatus(p *command.Program, res result.Result) error {
	if res.Reason != outcome.ReasonExit {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(res.Message))
	}
	if res.ExitCode == 0 {
		return nil
	}
	return command.ExitStatus(res.ExitCode)
}
