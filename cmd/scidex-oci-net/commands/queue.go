package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// newQueue makes the command queue.
func newQueue(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "queue",
		Usage:       "look at the queue of submit, cancel and retry what is in it, pause it",
		UsageText:   "scidex-oci queue ls|show|workers|cancel|retry|rescue|pause|resume",
		Subcommands: []*cli.Command{newQueueList(p), newQueueShow(p), newQueueWorkers(p), newQueueCancel(p), newQueueRetry(p), newQueueRescue(p), newQueuePause(p), newQueueResume(p)},
	}
}
