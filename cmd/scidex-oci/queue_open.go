package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres/riverqueue"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// openQueue opens the queue in the database of the catalog.
func (h *stores) openQueue(ctx context.Context) (queue.Queue, error) {
	c, ok := h.catalog.(*postgres.Catalog)
	if !ok {
		return nil, &request.Error{Err: errNoQueue}
	}
	return riverqueue.Open(ctx, c, h.runner.Log)
}

var errNoQueue = errors.New("the queue is in PostgreSQL, and this catalog is a SQLite file; give --db postgres://USER@HOST:PORT/DATABASE or set SCIDEX_OCI_DB")

// queued refuses, before anything is opened, a catalog that cannot have a queue.
func (p *program) queued() error {
	s, err := settingsOf(p.options, p.env)
	if err == nil && s.db.url == "" {
		err = errNoQueue
	}
	return err
}

// withQueue opens the queue for a command.
func (p *program) withQueue(c *cli.Context, command func(q queue.Queue, h *stores) error) error {
	if err := p.load(c); err != nil {
		return err
	}
	if err := p.queued(); err != nil {
		return err
	}
	return p.visit(c, func(h *stores) error {
		q, err := h.openQueue(c.Context)
		if err != nil {
			return err
		}
		return command(q, h)
	})
}

// migrateQueue brings the tables of the queue to the version of this program.
func (p *program) migrateQueue(ctx context.Context, db database) (err error) {
	c, err := postgres.Open(ctx, db.url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	before, after, err := riverqueue.Migrate(ctx, c)
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
