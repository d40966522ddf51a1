package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// checkQueue refuses, before anything is opened, a catalog that cannot have a queue.
func checkQueue(p *command.Program) error {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err == nil && !s.HasQueue() {
		err = stores.ErrNoQueue
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

// migrateQueue brings the tables of the queue to the version of this program.
func migrateQueue(p *command.Program, ctx context.Context, s stores.Settings) error {
	before, after, err := s.MigrateQueue(ctx)
	if err != nil {
		return err
	}
	if before == after {
		_, err = fmt.Fprintf(p.Stdout, "the queue has the newest schema, version %d\n", after)
	} else {
		_, err = fmt.Fprintf(p.Stdout, "migrated the queue from version %d to %d\n", before, after)
	}
	return err
}
