package options

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// imagesKey is the key of a config file whose mapping says what an image that a workflow engine names is here.
const imagesKey = "images"

// Images has the value of --rootfs for each of these names, from the config file and from the operator's.
func (g *Global) Images() (map[string]string, error) { return g.file.images(OperatorConfig) }

func (l layer) images(operator string) (map[string]string, error) {
	system, err := l.operators(operator)
	all := map[string]string{}
	for _, from := range []layer{system, l} {
		for _, pair := range from.values[imagesKey] {
			name, root, _ := strings.Cut(pair, "=")
			if strings.HasPrefix(root, ".") {
				root = Absolute(from.dir, root)
			}
			all[name] = root
		}
	}
	return all, err
}

// imageName is the form of a reference, with or without its registry, tag and digest.
const imageName = `[a-zA-Z0-9][a-zA-Z0-9._:/@-]*`

// imageValues reads a mapping of images to values of --rootfs as NAME=ROOT.
func imageValues(node *yaml.Node) (list []string, err error) {
	err = eachEntry(node, "images: {'debian:stable-slim': debian}", func(name string, value *yaml.Node) error {
		if !hasForm(imageName, name) {
			return fmt.Errorf("%q is no name of an image; give one as workflows do, such as debian:stable-slim", name)
		}
		root, err := configValues(value, false)
		if err != nil {
			return fmt.Errorf("%s: give one value, as --rootfs takes it: host, the name of an image, or a directory", name)
		}
		list = append(list, name+"="+root[0])
		return nil
	})
	return list, err
}
