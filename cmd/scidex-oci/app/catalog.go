package app

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// newCatalogCommand makes the command catalog.
func newCatalogCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "catalog",
		Usage:       "migrate, check and copy the catalog",
		UsageText:   "scidex-oci catalog migrate|check|copy",
		Subcommands: []*cli.Command{newCatalogMigrate(p), newCatalogCheck(p), newCatalogCopy(p)},
	}
}
