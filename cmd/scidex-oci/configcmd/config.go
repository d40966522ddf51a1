// Package configcmd has the commands of the user's config file: set, get, unset and path.
package configcmd

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// New makes the command config.
func New(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "config",
		Usage:       "read and change your config file, the defaults of later commands",
		UsageText:   "scidex-oci config set|get|unset|path",
		Description: about,
		Subcommands: []*cli.Command{newSet(p), newGet(p), newUnset(p), newPath(p)},
	}
}

// about is what all commands have in common.
const about = `A key is the name of a flag of run with underscores, such as log_size, gc.keep_last for one of gc, or
runtimes.NAME for a name that --runtime takes. For image pull there are short_names.NAME,
registries.HOST.mirrors and registries.HOST.plain_http. The file is that of --config (SCIDEX_OCI_CONFIG), else
$XDG_CONFIG_HOME/scidex-oci/config.yaml, else ~/.config/scidex-oci/config.yaml.`

// flags are those that the file is found by: all global ones.
func flags(c *cli.Context) []*options.Flag { return options.Of(c.Command.Flags, c.App.Flags) }

// ownFile is the path of the caller's config file.
func ownFile(p *command.Program, c *cli.Context) (string, error) {
	return p.Options.OwnConfig(p.Env, flags(c))
}
