package options

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// runtimesKey is the key of a config file whose mapping gives directories names for --runtime.
const runtimesKey = "runtimes"

// runtimeValues reads that mapping as NAME=DIR.
func runtimeValues(node *yaml.Node) ([]string, error) {
	if node.Kind != yaml.MappingNode {
		return nil, errors.New(`not a mapping of names to directories, as in "runtimes: {science: /opt/envs/science}"`)
	}
	var list []string
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i].Value, node.Content[i+1]
		if err := spec.ValidateRuntimeName(name); err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("runtime %q is given twice", name)
		}
		seen[name] = true
		dir, err := configValues(value, false)
		if err != nil {
			return nil, fmt.Errorf("%s: give one directory", name)
		}
		list = append(list, name+"="+dir[0])
	}
	return list, nil
}

// runtimes are the layer's named directories.
func (l layer) runtimes() map[string]string {
	dirs := map[string]string{}
	for _, pair := range l.values[runtimesKey] {
		name, dir, _ := strings.Cut(pair, "=")
		dirs[name] = Absolute(l.dir, dir)
	}
	return dirs
}

// Runtime returns the directory of a runtime that the config file names. The directory is recorded: another run of the
// request has the same programs, whatever the name means then.
func (g *Global) Runtime(asked string) (string, error) {
	if asked == spec.None {
		return "", nil
	}
	if !spec.IsRuntimeName(asked) {
		return asked, nil
	}
	known := g.file.runtimes()
	if dir, ok := known[asked]; ok {
		return dir, nil
	}
	if info, err := os.Stat(asked); err == nil && info.Mode().IsRegular() {
		return asked, inputs.NotARuntime(asked)
	}
	if len(known) == 0 {
		return asked, fmt.Errorf("runtime %q: no config file names runtimes; add \"runtimes: {%s: DIR}\" to one, or give a directory, such as ./%s%s",
			asked, asked, asked, suggest.DidYouMean(asked, []string{spec.None}, ""))
	}
	names := slices.Sorted(maps.Keys(known))
	return asked, fmt.Errorf("runtime %q is not among those of config file %q, which are %s; give one of them, or a directory, such as ./%s%s",
		asked, g.file.file, strings.Join(names, ", "), asked, suggest.DidYouMean(asked, append(names, spec.None), ""))
}
