package options

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
)

// Keys of a config file about registries of images, and those of an entry of registries.
const (
	registriesKey = "registries"
	shortNamesKey = "short_names"
	mirrorsKey    = "mirrors"
	plainHTTPKey  = "plain_http"
)

// Registry is what a config file says of a registry.
type Registry struct {
	Mirrors   []string // HOST[:PORT][/PATH], in the order in which they are asked
	PlainHTTP bool
}

// Registries are the entries of the config file, and those of the operator's for other hosts: they describe the site.
func (g *Global) Registries() (map[string]Registry, error) { return g.file.registries(OperatorConfig) }

// ShortNames are the names without a registry and what they stand for, of the config file and of the operator's.
func (g *Global) ShortNames() (map[string]string, error) { return g.file.shortNames(OperatorConfig) }

func (l layer) registries(operator string) (map[string]Registry, error) {
	system, err := l.operators(operator)
	all := system.ownRegistries()
	maps.Copy(all, l.ownRegistries())
	return all, err
}

func (l layer) shortNames(operator string) (map[string]string, error) {
	system, err := l.operators(operator)
	all := map[string]string{}
	for _, pair := range append(system.values["short-names"], l.values["short-names"]...) {
		name, whole, _ := strings.Cut(pair, "=")
		all[name] = whole
	}
	return all, err
}

// ownRegistries reads what registryValues made.
func (l layer) ownRegistries() map[string]Registry {
	all := map[string]Registry{}
	for _, entry := range l.values[registriesKey] {
		path, value, _ := strings.Cut(entry, "=")
		host, key, _ := strings.Cut(path, " ")
		r := all[host]
		switch key {
		case mirrorsKey:
			r.Mirrors = append(r.Mirrors, value)
		case plainHTTPKey:
			r.PlainHTTP = value == "true"
		}
		all[host] = r
	}
	return all
}

// A host as in a reference, and a path by distribution-spec, which is shorter than a reference.
const (
	hostForm = `(localhost|[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+|([a-zA-Z0-9.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}|\[[0-9a-fA-F:]+\])`
	pathForm = `[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*`
)

func hasForm(form, text string) bool {
	return len(text) <= 255 && regexp.MustCompile("^"+form+"$").MatchString(text)
}

// eachEntry calls do with the names and values of a mapping, and refuses a name that is given twice.
func eachEntry(node *yaml.Node, example string, do func(name string, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("not a mapping, as in %q", example)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		if seen[name] {
			return fmt.Errorf("%q is given twice", name)
		}
		seen[name] = true
		if err := do(name, node.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// shortNameValues reads a mapping of names to references as NAME=HOST/PATH.
func shortNameValues(node *yaml.Node) (list []string, err error) {
	err = eachEntry(node, "short_names: {python: docker.io/library/python}", func(name string, value *yaml.Node) error {
		first, _, path := strings.Cut(name, "/")
		if !hasForm(pathForm, name) || path && hasForm(hostForm, first) {
			return fmt.Errorf("%q is no short name; give one of a-z, 0-9, '.', '_', '-' and '/', without registry, tag and digest", name)
		}
		whole, err := configValues(value, false)
		if err != nil || !hasForm(hostForm+"/"+pathForm, whole[0]) {
			return fmt.Errorf("%s: give HOST/PATH, without tag and digest, as in docker.io/library/python", name)
		}
		list = append(list, name+"="+whole[0])
		return nil
	})
	return list, err
}

// registryValues reads a mapping of hosts to entries as "HOST KEY=VALUE". An entry without mirrors is kept as "HOST": it
// replaces the operator's.
func registryValues(node *yaml.Node) (list []string, err error) {
	err = eachEntry(node, "registries: {docker.io: {mirrors: [mirror.example.org]}}", func(host string, value *yaml.Node) error {
		if err := checkHost(host); err != nil {
			return err
		}
		list = append(list, host)
		err := eachEntry(value, host+": {mirrors: [mirror.example.org]}", func(key string, value *yaml.Node) error {
			values, err := registryValue(key, value)
			for _, one := range values {
				list = append(list, host+" "+key+"="+one)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
		return nil
	})
	return list, err
}

func checkHost(host string) error {
	switch {
	case host == "index.docker.io" || host == "registry-1.docker.io":
		return fmt.Errorf("%q is called docker.io here; write that", host)
	case !hasForm(hostForm, host):
		return fmt.Errorf("%q is no registry; give HOST or HOST:PORT", host)
	}
	return nil
}

func registryValue(key string, node *yaml.Node) ([]string, error) {
	switch key {
	case mirrorsKey:
		return mirrorValues(node)
	case plainHTTPKey:
		return plainHTTPValue(node)
	case "insecure":
		return nil, errors.New(`"insecure" is not known; write "plain_http: true" for a registry without TLS, or put its authority's certificate into certs.d`)
	}
	return nil, fmt.Errorf("unknown key %q%s", key, nearby(key, []string{mirrorsKey, plainHTTPKey}))
}

func mirrorValues(node *yaml.Node) ([]string, error) {
	list, err := configValues(node, true)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", mirrorsKey, err)
	}
	for _, one := range list {
		if !hasForm(hostForm+"(/"+pathForm+")?", one) {
			return nil, fmt.Errorf("%s: %q is no mirror; give HOST[:PORT] or HOST[:PORT]/PATH, without https://", mirrorsKey, one)
		}
	}
	return list, nil
}

func plainHTTPValue(node *yaml.Node) ([]string, error) {
	value, err := configValues(node, false)
	if err != nil || value[0] != "true" && value[0] != "false" {
		return nil, fmt.Errorf("%s: give true or false", plainHTTPKey)
	}
	return value, nil
}

// parseRegistryKey reads registries.HOST.KEY, whose host has dots of its own.
func parseRegistryKey(name, rest string) (ConfigKey, error) {
	at := strings.LastIndexByte(rest, '.')
	if at < 0 {
		return ConfigKey{}, unknownKey(name)
	}
	host, key := rest[:at], rest[at+1:]
	if key != mirrorsKey && key != plainHTTPKey {
		return ConfigKey{}, fmt.Errorf("unknown key %q; write registries.HOST.mirrors or registries.HOST.plain_http%s", name, suggest.DidYouMean(key, []string{mirrorsKey, plainHTTPKey}, ""))
	}
	return ConfigKey{Path: []string{registriesKey, host, key}, List: key == mirrorsKey}, nil
}
