package main

import (
	"context"
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner"
)

// load gives the options of a command line their values: those of the command's flags, the global ones, and others, which
// may be keys of the config file alone.
func (p *program) load(c *cli.Context, others ...*options.Flag) error {
	return p.options.Load(p.env, options.Of(c.Command.Flags, c.App.Flags), others...)
}

// visit opens catalog and blob store for a command, with what waited to be committed, and closes them after it.
func (p *program) visit(c *cli.Context, command func(st *stores.Stores) error) error {
	return p.enter(c, func(st *stores.Stores) error {
		st.Runner.CommitOutcomes(c.Context)
		return command(st)
	})
}

// change is visit for a command that writes to the catalog: before it, what killed runs of this root left is removed.
func (p *program) change(c *cli.Context, command func(st *stores.Stores) error) error {
	return p.visit(c, func(st *stores.Stores) error {
		st.Runner.Tidy(c.Context)
		return command(st)
	})
}

// enter is visit for a command that sees to what waits itself.
func (p *program) enter(c *cli.Context, command func(st *stores.Stores) error) error {
	if err := p.load(c); err != nil {
		return err
	}
	st, err := p.open(c.Context, p.stderr)
	if err != nil {
		return err
	}
	err = command(st)
	return errors.Join(err, st.Close())
}

// open opens catalog and blob store as the global flags say; log receives messages. Close the stores.
func (p *program) open(ctx context.Context, log io.Writer) (*stores.Stores, error) {
	s, err := stores.ReadSettings(p.options, p.env)
	if err != nil {
		return nil, &runner.RequestError{Err: err}
	}
	given, err := stores.ReadPolicy(p.options)
	if err != nil {
		return nil, &runner.RequestError{Err: err}
	}
	return stores.Open(ctx, s, given, p.build.version, log)
}
