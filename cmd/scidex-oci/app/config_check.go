package app

import (
	"cmp"
	"path/filepath"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/spec"
)

// checkConfig refuses a config file that commands would refuse for the value at path. Other bad values do not prevent
// an edit.
func checkConfig(env options.Lookup, text, file string, path []string) error {
	alone, err := configEntryAlone(text, path[0])
	if err != nil {
		return err
	}
	c, err := options.ParseConfig(alone, filepath.Dir(file))
	if err != nil {
		return err
	}
	return cmp.Or(checkConfigAnalysis(c), checkConfigStores(c, env, path[0]), checkConfigHook(c, env), checkConfigRetention(c))
}

// configEntryAlone is a file that has the entry of a key and nothing else.
func configEntryAlone(text, key string) ([]byte, error) {
	root, err := configMapping(text)
	if err != nil {
		return nil, err
	}
	if at := (configEntries{node: root}).find(key); at >= 0 {
		root = &yaml.Node{Kind: yaml.MappingNode, Content: root.Content[at : at+2]}
	}
	return yaml.Marshal(root)
}

func checkConfigAnalysis(c *options.Config) error {
	a, err := c.Run.Over(spec.Analysis{})
	if err != nil {
		return err
	}
	a.Command = []string{"true"}
	return a.Validate()
}

// checkConfigStores looks at what only commands with stores read. Where they are is looked at only if they are set: without
// one they depend on the environment.
func checkConfigStores(c *options.Config, env options.Lookup, key string) error {
	switch key {
	case "min_free", "max_unharvested", "max_unharvested_size":
		_, err := stores.ReadPolicy(&c.Global, env, nil)
		return err
	case "root", "db", "blobs", "tmp", "log_level", "log_format":
		_, err := stores.ReadSettings(&c.Global, env)
		return err
	}
	return nil
}

func checkConfigHook(c *options.Config, env options.Lookup) error {
	hook := c.Run.Hook
	if !hook.Command.Given { // its other options are read with one
		hook.Command = options.Text{Given: true, Value: "/bin/sh"}
	}
	_, err := runflags.ReadHook(hook, env)
	return err
}

func checkConfigRetention(c *options.Config) error {
	_, err := c.Retention.At(time.Now())
	return err
}
