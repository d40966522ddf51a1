package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// checkQueue refuses, before anything is opened, a catalog that cannot have a queue.
func checkQueue(p *command.Program) error {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err == nil && !s.HasQueue() {
		err = drivers.ErrNoQueue
	}
	return err
}

// withQueue opens the queue for a command.
func withQueue(p *command.Program, c *cli.Context, command func(q queue.Queue, st *stores.Stores) error) error {
	if err := p.Load(c); err != nil {
		return err
	}
	if err := checkQueue(p); err != nil {
		return err
	}
	return p.WithStores(c, func(st *stores.Stores) error {
		q, err := st.OpenQueue(c.Context)
		if err != nil {
			return err
		}
		return command(q, st)
	})
}

// forEachQueued is the action of a command that does the same to each run that is named, and prints what do says of it. It
// continues after an error.
func forEachQueued(p *command.Program, do func(ctx context.Context, q queue.Queue, run catalog.Run) (string, error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		given, err := command.Args(c, 1, -1)
		if err != nil {
			return err
		}
		return withQueue(p, c, func(q queue.Queue, st *stores.Stores) (all error) {
			for _, name := range given {
				run, err := watch.Find(c.Context, st.Host, name)
				var said string
				if err == nil {
					said, err = do(c.Context, q, run)
				}
				if err == nil {
					_, err = fmt.Fprintf(p.Stdout, "%s  %s\n", screen.Escape(run.ID), said)
				}
				all = errors.Join(all, err)
			}
			return all
		})
	}
}
