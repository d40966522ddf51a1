package commands

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

func newQueueRescue(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "rescue",
		Usage:     "give the analyses of workers that are gone for good to others, at once",
		UsageText: "scidex-oci queue rescue WORKER...",
		ArgsUsage: "WORKER...",
		Description: `For a host that does not come back: without it, its analyses are others' when the --lease of its worker is over or, of a worker without
one, after their timeout, their grace and the --rescue-after. A worker that is started again on the same host and root does it for those before it.
WORKER is as in "scidex-oci queue workers".

If the worker lives all the same nothing is wrong but its time lost: what it has started ends as lost, and it removes what it
has made.`,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, -1)
			if err != nil {
				return err
			}
			return withQueue(p, c, func(q queue.Queue, _ *stores.Stores) (all error) {
				for _, worker := range given {
					n, err := q.Rescue(c.Context, worker)
					if errors.Is(err, catalog.ErrNotFound) {
						err = fmt.Errorf("no worker %q has a lease or analyses; see \"scidex-oci queue workers\"", worker)
					}
					if err == nil {
						_, err = fmt.Fprintf(p.Stdout, "%s  %s in the queue again\n", screen.Escape(worker), format.Count(n, "job", "jobs"))
					}
					all = errors.Join(all, err)
				}
				return all
			})
		},
	}
}
