package options

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/spec"
)

// configPaths are the default paths of config files; the first that exists is read.
func configPaths(env Lookup) []string {
	var paths []string
	if dir := env.Text("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		paths = append(paths, filepath.Join(dir, "scidex-oci", "config.yaml"))
	} else if home := env.Text("HOME"); filepath.IsAbs(home) {
		paths = append(paths, filepath.Join(home, ".config", "scidex-oci", "config.yaml"))
	}
	return append(paths, OperatorConfig)
}

// OperatorConfig is the config file of all users.
const OperatorConfig = "/etc/scidex-oci/config.yaml"

// allowHost is only a flag of the command line and a field of manifests: no default opens a way out.
const allowHost = "allow-host"

// These are no flags: they restrict those who choose flags.
const (
	allowBinds    = "allow-binds"
	allowHosts    = "allow-hosts"
	denyAddresses = "deny-addresses"
)

// configKeys are what a config file may hold.
func configKeys() []*Flag { return configFlags(&Global{}, &Run{}) }

// configFlags are the global flags and those of run, but not what names one run.
func configFlags(g *Global, o *Run) []*Flag {
	var unused Text
	own := slices.Concat(g.Flags(), o.Flags(g), g.UnharvestedKeys())
	own = Without(own, "config", "id", "file", "again", "script", "trace", allowHost)
	for _, name := range []string{allowBinds, allowHosts, denyAddresses} {
		own = append(own, GivenList(&unused, name, ""))
	}
	for _, name := range mappingKeys() {
		own = append(own, GivenList(&unused, strings.ReplaceAll(name, "_", "-"), ""))
	}
	return own
}

// allowed is the layer's restriction, if it has one. An empty list is one.
func (l layer) allowed() []binds.Allowed {
	list, given := l.values[allowBinds]
	if !given {
		return nil
	}
	a := binds.Allowed{File: l.file}
	for _, prefix := range list {
		a.Prefixes = append(a.Prefixes, Absolute(l.dir, prefix))
	}
	return []binds.Allowed{a}
}

// fromConfig reads the config file name, or, if name is empty, the first of paths that exists.
func fromConfig(name string, paths []string, flags []*Flag) (layer, error) {
	if name != "" {
		from, err := readConfig(name, flags)
		if errors.Is(err, fs.ErrNotExist) {
			err = inputs.Missing("config file", name, err)
		}
		return from, err
	}
	for _, path := range paths {
		from, err := readConfig(path, flags)
		if !errors.Is(err, fs.ErrNotExist) {
			return from, err
		}
	}
	return layer{}, nil
}

func readConfig(name string, flags []*Flag) (layer, error) {
	data, err := userfile.Read(name, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return layer{}, err
	}
	if err != nil {
		return layer{}, inputs.Missing("config file", name, err)
	}
	values, err := parseConfig(data, flags)
	if err != nil {
		return layer{}, fmt.Errorf("config file %q: %w", name, err)
	}
	label := func(flag string) string { return fmt.Sprintf("config file %q: %s", name, key(flag)) }
	return layer{values: values, label: label, dir: filepath.Dir(name), file: name}, nil
}

// key is the config file's name of a flag.
func key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// parseConfig parses one YAML mapping of flags to values. Only repeatable flags take lists and, for K=V flags, mappings.
func parseConfig(data []byte, flags []*Flag) (map[string][]string, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, more yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, yamlError(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one YAML document; give one")
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: not a mapping of flags to values, as in \"memory: 4GiB\"", root.Line)
	}
	if unknown := spec.UnknownTag(root); unknown != nil {
		return nil, fmt.Errorf("line %d: the tag %q is not known here; take it out", unknown.Line, unknown.Tag)
	}
	values := map[string][]string{}
	return values, readMapping(root, flags, values)
}

// gcSection is the key whose mapping holds the flags of gc.
const gcSection = "gc"

func readMapping(root *yaml.Node, flags []*Flag, values map[string][]string) error {
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, node := root.Content[i], root.Content[i+1]
		if inner, ok := section(name.Value, flags); ok {
			if node.Kind != yaml.MappingNode {
				return fmt.Errorf("line %d: %s: not a mapping of flags to values", node.Line, name.Value)
			}
			if err := readMapping(node, inner, values); err != nil {
				return err
			}
			continue
		}
		flag := named(flags, strings.ReplaceAll(name.Value, "_", "-"))
		if flag == nil || key(flag.Name) != name.Value {
			return fmt.Errorf("line %d: unknown key %q%s", name.Line, name.Value, suggest.DidYouMean(name.Value, keys(flags), ""))
		}
		if _, twice := values[flag.Name]; twice {
			return fmt.Errorf("line %d: key %q is given twice", name.Line, name.Value)
		}
		list, err := readValues(name.Value, node, flag.repeatable)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, name.Value, err)
		}
		values[flag.Name] = list
	}
	return nil
}

// section returns the flags of a key that is a section of a whole config file.
func section(name string, flags []*Flag) ([]*Flag, bool) {
	return (&Retention{}).Flags(), name == gcSection && named(flags, allowBinds) != nil
}

func readValues(name string, node *yaml.Node, several bool) ([]string, error) {
	switch name {
	case runtimesKey:
		return runtimeValues(node)
	case shortNamesKey:
		return shortNameValues(node)
	case imagesKey:
		return imageValues(node)
	case registriesKey:
		return registryValues(node)
	}
	list, err := configValues(node, several)
	return list, cmp.Or(err, checkEgress(name, list))
}

func configValues(node *yaml.Node, several bool) ([]string, error) {
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag != "!!null" && node.Value != "":
		return []string{node.Value}, nil
	case node.Kind == yaml.SequenceNode && several:
		var list []string
		for _, item := range node.Content {
			one, err := configValues(item, false)
			if err != nil {
				return nil, err
			}
			list = append(list, one...)
		}
		return list, nil
	case node.Kind == yaml.MappingNode && several:
		var list []string
		for i := 0; i+1 < len(node.Content); i += 2 {
			one, err := configValues(node.Content[i+1], false)
			if err != nil {
				return nil, err
			}
			list = append(list, node.Content[i].Value+"="+one[0])
		}
		return list, nil
	case several:
		return nil, errors.New("give a value or a list of values")
	}
	return nil, errors.New("give one value")
}

// yamlError drops the library's prefix.
func yamlError(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "yaml: ")) }

func keys(flags []*Flag) []string {
	var all []string
	for _, flag := range flags {
		all = append(all, key(flag.Name))
	}
	slices.Sort(all)
	return all
}

func named(flags []*Flag, name string) *Flag {
	i := slices.IndexFunc(flags, func(f *Flag) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return flags[i]
}
