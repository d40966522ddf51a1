package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

func newConfigUnset(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "unset",
		Usage:     "take a key out of your config file",
		UsageText: "scidex-oci config unset KEY",
		ArgsUsage: "KEY",
		Description: `A key that is not set is no error. A key that is not known can be taken out of a file too.

` + aboutConfig,
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			path, err := ownConfigFile(p, c)
			if err != nil {
				return err
			}
			if err := unsetConfigKey(path, given[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintln(p.Stdout, screen.Escape(fmt.Sprintf("%s is not set in %s", given[0], path)))
			return err
		},
	}
}

func unsetConfigKey(path, name string) error {
	key, unknown := options.ParseConfigKey(name)
	if unknown != nil {
		key.Path = strings.SplitN(name, ".", 2)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return unknown // nothing is made
	}
	return changeConfigFile(path, func(text string) (string, error) {
		after, err := unsetConfigText(text, key.Path)
		if err == nil {
			err = onlyConfigChanged(text, after, key.Path)
		}
		if err != nil {
			return "", fmt.Errorf("config file %q: %w", path, err)
		}
		if after == text {
			return text, unknown
		}
		return after, nil
	})
}
