package app

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
)

func newConfigGet(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "get",
		Usage:     "print what the config file says for a key",
		UsageText: "scidex-oci config get KEY",
		ArgsUsage: "KEY",
		Description: `Prints each value on a line, as the file has it: flags and environment variables, which win over the file, do
not count. The file is the one that commands read: if you have none, that of all users. A key that it does not
set is an error.

` + aboutConfig,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			key, err := options.ParseConfigKey(given[0])
			if err != nil {
				return command.Usagef("%s", err)
			}
			paths, err := p.Options.ConfigPaths(p.Env, configFlags(c))
			if err != nil {
				return err
			}
			return printConfigKey(p, paths, key)
		},
	}
}

func printConfigKey(p *command.Program, paths []string, key options.ConfigKey) error {
	for _, path := range paths {
		data, err := userfile.Read(path, nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return inputs.Missing("config file", path, err)
		}
		return printConfigValues(p, path, data, key)
	}
	return fmt.Errorf("%s is not set: there is no config file %s", strings.Join(key.Path, "."), strings.Join(paths, " or "))
}

func printConfigValues(p *command.Program, path string, data []byte, key options.ConfigKey) error {
	values, err := options.ReadConfigKey(data, key)
	if err != nil {
		return fmt.Errorf("config file %q: %w", path, err)
	}
	if len(values) == 0 {
		return fmt.Errorf("%s is not set in config file %q", strings.Join(key.Path, "."), path)
	}
	for _, value := range values {
		if _, err := fmt.Fprintln(p.Stdout, screen.Escape(value)); err != nil {
			return err
		}
	}
	return nil
}

func newConfigPath(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "path",
		Usage:       "print the path of your config file",
		UsageText:   "scidex-oci config path",
		Description: "There need not be such a file: config set makes it.\n\n" + aboutConfig,
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			path, err := ownConfigFile(p, c)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, path)
			return err
		},
	}
}
