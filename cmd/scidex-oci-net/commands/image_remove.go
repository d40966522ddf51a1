package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

func newImageRemove(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "rm",
		Usage:     "remove images",
		UsageText: "scidex-oci image rm NAME...",
		ArgsUsage: "NAME...",
		Description: `All names are looked up before anything is removed. What another image has too stays. A run that uses the
image goes on: then only the name goes at once, and the rest with the next gc after the end of the run.`,
		Action: p.Loaded(1, -1, func(ctx context.Context, given []string) error {
			return removeImages(ctx, p, given)
		}),
	}
}

func removeImages(ctx context.Context, p *command.Program, given []string) error {
	s, err := command.OpenImages(p)
	if err != nil {
		return err
	}
	slices.Sort(given)
	given = slices.Compact(given)
	for _, name := range given {
		if err := s.Known(name); err != nil {
			return err
		}
	}
	var all error
	for _, name := range given {
		inUse, err := s.Remove(ctx, name)
		if inUse {
			fmt.Fprintf(p.Stdout, "%s is in use: its files go with the first \"scidex-oci gc\" after the runs that use it\n", screen.Escape(name))
		}
		all = errors.Join(all, err)
	}
	return all
}
