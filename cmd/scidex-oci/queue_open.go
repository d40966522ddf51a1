package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// queued refuses, before anything is opened, a catalog that cannot have a queue.
func (p *program) queued() error {
	s, err := stores.ReadSettings(p.options, p.env)
	if err == nil && !s.HasQueue() {
		err = stores.ErrNoQueue
	}
	return err
}

// withQueue opens the queue for a command.
func (p *program) withQueue(c *cli.Context, command func(q queue.Queue, st *stores.Stores) error) error {
	if err := p.load(c); err != nil {
		return err
	}
	if err := p.queued(); err != nil {
		return err
	}
	return p.visit(c, func(st *stores.Stores) error {
		q, err := st.OpenQueue(c.Context)
		if err != nil {
			return err
		}
		return command(q, st)
	})
}

// migrateQueue brings the tables of the queue to the version of this program.
func (p *program) migrateQueue(ctx context.Context, s stores.Settings) error {
	before, after, err := s.MigrateQueue(ctx)
	if err != nil {
		return err
	}
	if before == after {
		_, err = fmt.Fprintf(p.stdout, "the queue has the newest schema, version %d\n", after)
	} else {
		_, err = fmt.Fprintf(p.stdout, "migrated the queue from version %d to %d\n", before, after)
	}
	return err
}
