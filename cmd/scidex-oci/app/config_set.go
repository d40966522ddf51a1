package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

func newConfigSet(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "set",
		Usage:     "set a key of your config file",
		UsageText: "scidex-oci config set KEY VALUE...",
		ArgsUsage: "KEY VALUE",
		Description: `Key and value are checked as commands check them. Comments, order and mode of the file stay as they are; the file
and its directory are made if they are missing. A key of a flag that may be given several times takes several
values, which replace those it had. A relative path is stored as an absolute one.

` + aboutConfig,
		Action: func(c *cli.Context) error {
			if word := c.Args().First(); c.Args().Len() == 1 && strings.Contains(word, "=") {
				_, err := options.ParseConfigKey(word)
				return command.Usagef("%s", err) // has what to write
			}
			given, err := command.Args(c, 2, -1)
			if err != nil {
				return err
			}
			key, err := options.ParseConfigKey(given[0])
			if err != nil {
				return command.Usagef("%s", err)
			}
			if len(given) > 2 && !key.List {
				return command.Usagef("config set %s: %d values; give one", given[0], len(given)-1)
			}
			if slices.Contains(given[1:], "") {
				return command.Usagef("config set %[1]s: an empty value; give another, or take the key out with \"scidex-oci config unset %[1]s\"", given[0])
			}
			path, err := ownConfigFile(p, c)
			if err != nil {
				return err
			}
			here, err := filepath.Abs(".")
			if err != nil {
				return fmt.Errorf("working directory: %w; change to one that exists", err)
			}
			return setConfigKey(p, path, key, key.Absolute(here, given[1:]))
		},
	}
}

func setConfigKey(p *command.Program, path string, key options.ConfigKey, values []string) error {
	value, err := encodeConfig(values, key.List)
	if err != nil {
		return err
	}
	_, missing := os.Stat(path)
	err = changeConfigFile(path, func(text string) (string, error) {
		after, err := setConfigText(text, key.Path, value)
		if err == nil {
			err = cmp.Or(options.CheckConfig([]byte(after)), onlyConfigChanged(text, after, key.Path), configHolds(after, key, values))
		}
		if err != nil {
			return "", fmt.Errorf("config file %q: %w", path, err)
		}
		return after, checkConfig(p.Env, after, path, key.Path)
	})
	if err != nil {
		return err
	}
	if errors.Is(missing, fs.ErrNotExist) {
		replacesOperatorConfig(p, path)
	}
	// Without the value: it may be an address with a password.
	_, err = fmt.Fprintln(p.Stdout, screen.Escape(fmt.Sprintf("%s is set in %s", strings.Join(key.Path, "."), path)))
	return err
}

// configHolds refuses a text that does not have these values for the key.
func configHolds(text string, key options.ConfigKey, values []string) error {
	got, err := options.ReadConfigKey([]byte(text), key)
	if err == nil && !slices.Equal(got, values) {
		err = unknownConfigForm(key.Path)
	}
	return err
}

// replacesOperatorConfig says that the operator's defaults do not hold any more for a caller with a file of their own.
func replacesOperatorConfig(p *command.Program, path string) {
	if _, err := os.Stat(options.OperatorConfig); err == nil && !p.Options.Config.Given {
		fmt.Fprintf(p.Stderr, "scidex-oci: the defaults in %s are not read any more, since you have %s now; copy those that you need\n", options.OperatorConfig, screen.Escape(path))
	}
}
