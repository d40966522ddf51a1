package command

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Load sets the options: the command's flags, the global ones, and others, which only the config file may have.
func (p *Program) Load(c *cli.Context, others ...*options.Flag) error {
	if err := p.Options.Load(p.Env, options.Of(c.Command.Flags, c.App.Flags), others...); err != nil {
		return err
	}
	if err := p.loadNet(); err != nil {
		return err
	}
	if p.Caller == nil && !c.Command.Hidden { // not a part of another command
		p.warnOfVariables(c.App, os.Environ())
	}
	return nil
}

// WithStores opens the stores for a command, commits pending outcomes, and closes the stores afterwards.
func (p *Program) WithStores(c *cli.Context, command func(st *stores.Stores) error) error {
	return p.WithRawStores(c, func(st *stores.Stores) error {
		recovery.CommitPending(c.Context, st.Host)
		return command(st)
	})
}

// WithTidyStores is WithStores for a command that writes to the catalog: it also removes what killed runs left.
func (p *Program) WithTidyStores(c *cli.Context, command func(st *stores.Stores) error) error {
	return p.WithStores(c, func(st *stores.Stores) error {
		recovery.Tidy(c.Context, st.Host)
		return command(st)
	})
}

// WithRawStores is WithStores for a command that handles pending outcomes itself.
func (p *Program) WithRawStores(c *cli.Context, command func(st *stores.Stores) error) error {
	if err := p.Load(c); err != nil {
		return err
	}
	st, err := p.OpenStores(c.Context, p.Stderr)
	if err != nil {
		return err
	}
	err = command(st)
	return errors.Join(err, st.Close())
}

// OpenStores opens the stores that the global options name. The log receives messages. Close the stores.
func (p *Program) OpenStores(ctx context.Context, log io.Writer) (*stores.Stores, error) {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	given, err := stores.ReadPolicy(p.Options, p.Env, p.OpenNet)
	if err != nil {
		return nil, &request.Error{Err: err}
	}
	st, err := stores.Open(ctx, s, given, p.Build.Version, log)
	if err == nil {
		st.Host.Spans = p.spanQueue(st.Host.Log)
	}
	return st, err
}
