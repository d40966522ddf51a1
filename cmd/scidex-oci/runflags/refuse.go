package runflags

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// Refuse refuses flags of run that a command has hidden. Each has a reason in why.
func Refuse(flags []cli.Flag, name string, why map[string]string) error {
	for _, f := range options.Of(flags) {
		reason, hidden := why[f.Name]
		if got := f.Got(); hidden && got.Given && got.Value != "false" {
			return command.Usagef("%s is not for %s: %s", got.Label, name, reason)
		}
	}
	return nil
}
