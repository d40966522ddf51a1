// Package queuecmd has the commands of the queue: queue and its subcommands, submit and worker.
package queuecmd

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// New makes the command queue.
func New(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "queue",
		Usage:       "look at the queue of submit, cancel and retry what is in it, pause it",
		UsageText:   "scidex-oci queue ls|show|workers|cancel|retry|rescue|pause|resume",
		Subcommands: []*cli.Command{newList(p), newShow(p), newWorkers(p), newCancel(p), newRetry(p), newRescue(p), newPause(p), newResume(p)},
	}
}
