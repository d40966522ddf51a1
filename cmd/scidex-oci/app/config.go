package app

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// newConfigCommand makes the command config.
func newConfigCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "config",
		Usage:       "read and change your config file, the defaults of later commands",
		UsageText:   "scidex-oci config set|get|unset|path",
		Description: aboutConfig,
		Subcommands: []*cli.Command{newConfigSet(p), newConfigGet(p), newConfigUnset(p), newConfigPath(p)},
	}
}

// aboutConfig is what all commands have in common.
const aboutConfig = `A key is the name of a flag of run with underscores, such as log_size, gc.keep_last for one of gc, or
runtimes.NAME for a name that --runtime takes. For image pull there are short_names.NAME,
registries.HOST.mirrors and registries.HOST.plain_http. The file is that of --config (SCIDEX_OCI_CONFIG), else
$XDG_CONFIG_HOME/scidex-oci/config.yaml, else ~/.config/scidex-oci/config.yaml.`

// configFlags are those that the file is found by: all global ones.
func configFlags(c *cli.Context) []*options.Flag { return options.Of(c.Command.Flags, c.App.Flags) }

// ownConfigFile is the path of the caller's config file.
func ownConfigFile(p *command.Program, c *cli.Context) (string, error) {
	return p.Options.OwnConfig(p.Env, configFlags(c))
}
