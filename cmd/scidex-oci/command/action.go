package command

import (
	"context"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
)

// ForOne is the action of a command with one argument that uses the stores.
func (p *Program) ForOne(do func(ctx context.Context, st *stores.Stores, given string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		given, err := Args(c, 1, 1)
		if err != nil {
			return err
		}
		return p.WithStores(c, func(st *stores.Stores) error { return do(c.Context, st, given[0]) })
	}
}

// Loaded is the action of a command that uses only the options, with least to most arguments, as in Args.
func (p *Program) Loaded(least, most int, do func(ctx context.Context, given []string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		given, err := Args(c, least, most)
		if err != nil {
			return err
		}
		if err := p.Load(c); err != nil {
			return err
		}
		return do(c.Context, given)
	}
}
