package commands

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans/otlp"
)

// newExportSpans makes the command by which processes have their spans sent (command.Program.SendSpans).
func newExportSpans(p *command.Program) *cli.Command {
	c := command.ExportSpansEntry()
	c.Action = func(c *cli.Context) error {
		settings, err := otlp.ReadSettings(p.Env.Text, p.Build.Version)
		if err != nil {
			return err
		}
		return otlp.Export(c.Context, settings, p.Stdin)
	}
	return c
}
