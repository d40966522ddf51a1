package options

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Config has the options of one config file, without those of flags and variables.
type Config struct {
	Global    Global
	Run       Run
	Retention Retention
}

// ParseConfig parses the text of a config file in the directory dir. Messages name only the keys, not the file.
func ParseConfig(data []byte, dir string) (*Config, error) {
	c := &Config{}
	flags := configFlags(&c.Global, &c.Run)
	values, err := parseConfig(data, flags)
	if err != nil {
		return nil, err
	}
	l := make(layers, layerCount)
	l[configFile] = layer{values: values, label: key, dir: dir}
	for _, f := range append(flags, c.Retention.Flags()...) {
		if err := f.take(l); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// CheckConfig refuses the text of a config file that commands do not read. It does not look at the values.
func CheckConfig(data []byte) error {
	_, err := parseConfig(data, configKeys())
	return err
}

// ReadConfigKey returns the values that a config file has for a key; of pairs they are K=V. An unset key has none.
func ReadConfigKey(data []byte, k ConfigKey) ([]string, error) {
	values, err := parseConfig(data, configKeys())
	if !isMapping(k.Path[0]) {
		return values[strings.ReplaceAll(k.Path[len(k.Path)-1], "_", "-")], err
	}
	var of []string
	for _, pair := range values[strings.ReplaceAll(k.Path[0], "_", "-")] {
		if value, found := strings.CutPrefix(pair, strings.Join(k.Path[1:], " ")+"="); found {
			of = append(of, value)
		}
	}
	return of, err
}

// isMapping reports whether a key's value is a mapping of names to values of their own.
func isMapping(name string) bool { return slices.Contains(mappingKeys(), name) }

func mappingKeys() []string { return []string{runtimesKey, imagesKey, shortNamesKey, registriesKey} }

// ConfigKey is a key of the config file.
type ConfigKey struct {
	Path []string // a key, or a section and a key in it
	List bool     // takes several values
}

// ParseConfigKey reads KEY, gc.KEY, runtimes.NAME, images.NAME, short_names.NAME or registries.HOST.KEY.
func ParseConfigKey(name string) (ConfigKey, error) {
	flags := configKeys()
	path := strings.SplitN(name, ".", 2)
	if len(path) == 2 && path[0] == registriesKey {
		return parseRegistryKey(name, path[1])
	}
	if len(path) == 2 && isMapping(path[0]) {
		return ConfigKey{Path: path}, nil // the reader checks the name
	}
	if inner, ok := section(path[0], flags); ok && len(path) == 2 {
		flags, path = inner, path[1:]
	}
	f := named(flags, strings.ReplaceAll(path[0], "_", "-"))
	if len(path) == 2 || f == nil || key(f.Name) != path[0] || isMapping(path[0]) {
		return ConfigKey{}, unknownKey(name)
	}
	return ConfigKey{Path: strings.Split(name, "."), List: f.repeatable}, nil
}

// unknownKey names the key that was most likely meant, or where all of them are.
func unknownKey(name string) error {
	known := ConfigKeys()
	key, value, pair := strings.Cut(name, "=")
	if pair && slices.Contains(known, key) {
		return fmt.Errorf("unknown key %q; write: scidex-oci config set %s %s", name, key, format.ShellQuote(value))
	}
	if meant := suggest.DidYouMean(key, known, ""); meant != "" {
		return fmt.Errorf("unknown key %q%s \"scidex-oci run --help\" explains the keys", name, meant)
	}
	return fmt.Errorf("unknown key %q; the keys are the flags of run with underscores, such as memory or log_size; see \"scidex-oci run --help\"", name)
}

// ConfigKeys are the names of all keys, as ParseConfigKey takes them.
func ConfigKeys() []string {
	all := slices.DeleteFunc(keys(configKeys()), isMapping)
	for _, name := range keys((&Retention{}).Flags()) {
		all = append(all, gcSection+"."+name)
	}
	return append(all, runtimesKey+".NAME", imagesKey+".NAME", shortNamesKey+".NAME", registriesKey+".HOST."+mirrorsKey, registriesKey+".HOST."+plainHTTPKey)
}

// OwnConfig is the path of the caller's config file: that of --config, or the default one. There need not be a file.
func (g *Global) OwnConfig(env Lookup, flags []*Flag) (string, error) {
	paths, err := g.ConfigPaths(env, flags)
	if err == nil && len(paths) == 1 && paths[0] == OperatorConfig && !g.Config.Given {
		err = errors.New("no place for a config file: HOME is not set; give --config FILE")
	}
	if err != nil {
		return "", err
	}
	return paths[0], nil
}

// ConfigPaths are the paths of config files; commands read the first that exists.
func (g *Global) ConfigPaths(env Lookup, flags []*Flag) ([]string, error) {
	dir, err := filepath.Abs(".")
	if err != nil {
		return nil, fmt.Errorf("working directory: %w; change to one that exists", err)
	}
	above := layers{fromFlags(flags, dir), fromEnvironment(flags, env, dir)}
	if g.Config = above.text("config"); g.Config.Given {
		return []string{g.Config.Path("")}, nil
	}
	return configPaths(env), nil
}
