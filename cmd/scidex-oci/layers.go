package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// lookup finds a variable of the environment, as os.LookupEnv does.
type lookup = options.Lookup

// layer is one place where flags get values from: the command line, the environment, a config file.
type layer struct {
	values map[string][]string      // by the flag's name
	label  func(name string) string // how a message names a value: "--memory"
	dir    string                   // relative paths start here
	file   string                   // the config file; empty for the others
}

// layers are all places, the one that wins first: command line, environment, config file.
type layers []layer

// given finds the layer that holds a value for name.
func (l layers) given(name string) (layer, bool) {
	for _, one := range l {
		if len(one.values[name]) > 0 {
			return one, true
		}
	}
	return layer{}, false
}

// text is the value of a flag that is given once, or otherwise.
func (l layers) text(name, otherwise string) string {
	if from, ok := l.given(name); ok {
		return from.text(name)
	}
	return otherwise
}

// path is like text for a file name, which it makes absolute.
func (l layers) path(name, otherwise string) string {
	from, ok := l.given(name)
	if !ok {
		return otherwise
	}
	return absolute(from.dir, from.text(name))
}

// on reports whether a switch is on.
func (l layers) on(name string) (bool, error) {
	from, ok := l.given(name)
	if !ok {
		return false, nil
	}
	on, err := strconv.ParseBool(from.text(name))
	if err != nil {
		return false, fmt.Errorf("%s %q: give true or false", from.label(name), from.text(name))
	}
	return on, nil
}

// text is the last value of name, which wins as it does on a command line.
func (l layer) text(name string) string {
	values := l.values[name]
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// fromFlags reads what stands on the command line.
func fromFlags(c *cli.Context, dir string) layer {
	values := map[string][]string{}
	set := c.FlagNames() // not IsSet of each, which asks a regular expression for the names of all
	for _, flag := range flagsOf(c) {
		name := flag.Names()[0]
		if !slices.Contains(set, name) {
			continue
		}
		if typed, ok := flag.(*options.Flag); ok {
			if got := typed.Got(); got.Given && got.Layer == 0 {
				values[name] = got.Values
			}
			continue
		}
		switch value := c.Value(name).(type) {
		case cli.StringSlice:
			values[name] = value.Value()
		default:
			values[name] = []string{fmt.Sprint(value)}
		}
	}
	return layer{values: values, label: func(name string) string { return "--" + name }, dir: dir}
}

// fromEnvironment reads the variables of the flags. An empty variable counts as unset; those of
// repeatable flags hold several values with commas between them.
func fromEnvironment(flags []cli.Flag, env lookup, dir string) layer {
	values := map[string][]string{}
	for _, flag := range flags {
		name := flag.Names()[0]
		value, ok := env(variable(name))
		if !ok || value == "" {
			continue
		}
		values[name] = []string{value}
		if repeatable(flag) {
			values[name] = strings.Split(value, ",")
		}
	}
	return layer{values: values, label: variable, dir: dir}
}

// variable is the environment variable of a flag.
func variable(flag string) string {
	return "SCIDEX_OCI_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

func repeatable(flag cli.Flag) bool {
	_, ok := flag.(*cli.StringSliceFlag)
	return ok
}

// flagsOf are the flags of the command and the global ones.
func flagsOf(c *cli.Context) []cli.Flag {
	var flags []cli.Flag
	for _, flag := range append(append([]cli.Flag{}, c.Command.Flags...), c.App.Flags...) {
		if flag != cli.HelpFlag {
			flags = append(flags, flag)
		}
	}
	return flags
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// asText is the value of a flag that is given once, for commands whose options are typed.
func (l layers) asText(name string) options.Text {
	from, ok := l.given(name)
	if !ok {
		return options.Text{}
	}
	return options.Text{Value: from.text(name), Values: from.values[name], Given: true, Label: from.label(name), Dir: from.dir}
}
