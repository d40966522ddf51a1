package options

import (
	"path/filepath"
	"strings"
)

// Lookup finds a variable of the environment, as os.LookupEnv does.
type Lookup func(name string) (string, bool)

// Text is the variable's value, "" if it is unset.
func (l Lookup) Text(name string) string {
	value, _ := l(name)
	return value
}

// layer is one source of option values: the command line, the environment, a config file.
type layer struct {
	values map[string][]string      // by the flag's name
	label  func(name string) string // how a message names a value: "--memory"
	dir    string                   // relative paths start here
	file   string                   // the config file; empty for the others
}

// layers are all sources in order of precedence: command line, environment, config file. The first may be the only one.
type layers []layer

// The indexes of layers.
const (
	commandLine = iota
	environment
	configFile
	layerCount
)

// text is the value for name of the first layer that has one.
func (l layers) text(name string) Text {
	for i, one := range l {
		if t := one.text(name); t.Given {
			t.Layer = i
			return t
		}
	}
	return Text{}
}

// text is the layer's value for name.
func (l layer) text(name string) Text {
	values := l.values[name]
	if len(values) == 0 {
		return Text{}
	}
	return Text{Value: values[len(values)-1], Values: values, Given: true, Label: l.label(name), Dir: l.dir}
}

// fromFlags reads the command line.
func fromFlags(flags []*Flag, dir string) layer {
	values := map[string][]string{}
	for _, flag := range flags {
		if len(flag.line.given) > 0 {
			values[flag.Name] = flag.line.given
		}
	}
	return layer{values: values, label: func(name string) string { return "--" + name }, dir: dir}
}

// fromEnvironment reads the variables of the flags. An empty variable counts as unset; those of
// repeatable flags hold several values with commas between them.
func fromEnvironment(flags []*Flag, env Lookup, dir string) layer {
	values := map[string][]string{}
	for _, flag := range flags {
		value, ok := env(Variable(flag.Name))
		if !ok || value == "" || flag.Name == allowHost {
			continue
		}
		values[flag.Name] = []string{value}
		if flag.repeatable {
			values[flag.Name] = strings.Split(value, ",")
		}
	}
	return layer{values: values, label: Variable, dir: dir}
}

// Variable is the environment variable of a flag.
func Variable(flag string) string {
	return "SCIDEX_OCI_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Absolute is name as an absolute path; a relative one starts at dir.
func Absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
