package app

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/crate/runcrate"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

func newCrateVerify(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check that a crate has all that it names, unchanged, and nothing else",
		UsageText: "scidex-oci crate verify DIR|FILE.zip",
		ArgsUsage: "DIR|FILE.zip",
		Description: `Any RO-Crate can be checked whose files have contentSize and sha256. The exit code is 0 where all is right and 1 where not.
What the metadata say about a run is compared with scidex-result.json, if that is there. Neither is signed: who changes both with the files is not noticed.`,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			return runCrateVerify(c.Context, p, given[0])
		},
	}
}

func runCrateVerify(ctx context.Context, p *command.Program, path string) error {
	check, err := runcrate.Verify(ctx, path)
	if err != nil {
		return err
	}
	for _, one := range check.Problems {
		if _, err := fmt.Fprintf(p.Stdout, "%s: %s\n", screen.Escape(one.Path), screen.Escape(one.What)); err != nil {
			return err
		}
	}
	if len(check.Problems) > 0 {
		fmt.Fprintf(p.Stderr, "%s; %s as named\n", screen.Count(len(check.Problems), "problem"), screen.Count(check.Files, "file"))
		return command.ExitStatus(1)
	}
	_, err = fmt.Fprintf(p.Stdout, "%s, %s: all as named\n", screen.Count(check.Files, "file"), format.Size(check.Bytes))
	return err
}
