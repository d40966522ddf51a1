// Package catalogcmd has the commands of the catalog: migrate, check and copy.
package catalogcmd

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// New makes the command catalog.
func New(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "catalog",
		Usage:       "migrate, check and copy the catalog",
		UsageText:   "scidex-oci catalog migrate|check|copy",
		Subcommands: []*cli.Command{newMigrate(p), newCheck(p), newCopy(p)},
	}
}
