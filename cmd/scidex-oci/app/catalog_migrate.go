package app

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
)

func newCatalogMigrate(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "migrate",
		Usage:     "bring the schema of the catalog to the version of this program",
		UsageText: "scidex-oci catalog migrate",
		Description: `Every command does this by itself if it may. If a PostgreSQL role may not change the schema, a member of
scidex_admin has to run this command. SQLite is backed up before; PostgreSQL is yours to back up. In PostgreSQL the
tables of the queue (submit, worker) are made and migrated with it.`,
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			return migrateCatalog(c.Context, p)
		},
	}
}

func migrateCatalog(ctx context.Context, p *command.Program) error {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return err
	}
	if !s.HasQueue() {
		c, err := s.OpenCatalog(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintln(p.Stdout, "the catalog has the newest schema")
		return c.Close()
	}
	before, after, err := s.MigrateCatalog(ctx)
	if err != nil {
		return err
	}
	if before == after {
		fmt.Fprintf(p.Stdout, "the catalog has the newest schema, version %d\n", after)
	} else {
		fmt.Fprintf(p.Stdout, "migrated the catalog from version %d to %d\n", before, after)
	}
	return migrateQueue(ctx, p, s)
}

// migrateQueue brings the tables of the queue to the version of this program.
func migrateQueue(ctx context.Context, p *command.Program, s stores.Settings) error {
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
