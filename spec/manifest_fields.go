package spec

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// field is a manifest field and its setter.
type field struct {
	name string
	set  setter
}

// setter stores a node's value; its error names the node's line.
type setter func(*yaml.Node) error

// manifestFields lists a manifest's fields in the order of the documentation.
func manifestFields(a *Analysis) []field {
	return []field{
		{"id", text(&a.ID)},
		{"labels", dictionary(&a.Labels)},
		{"command", list(&a.Command)},
		{"script", text(&a.Script)},
		{"args", list(&a.Args)},
		{"env", dictionary(&a.Env)},
		{"secrets", list(&a.Secrets)},
		{"data", text(&a.Data)},
		{"docs", text(&a.Docs)},
		{"project", text(&a.Project)},
		{"inputs", list(&a.Inputs)},
		{"stage", text(&a.Stage)},
		{"export", text(&a.Export)},
		{"outputs", list(&a.Outputs)},
		{"exclude", list(&a.Exclude)},
		{"workdir", text(&a.Workdir)},
		{"rootfs", text(&a.Rootfs)},
		{"runtime", text(&a.Runtime)},
		{"ids", text(&a.IDs)},
		{"memory", parsed(&a.Memory, ParseSize)},
		{"cpus", number(&a.CPUs, ParseCPUs)},
		{"pids", number(&a.Pids, ParsePids)},
		{"timeout", parsed(&a.Timeout, ParseDuration)},
		{"grace", parsed(&a.Grace, ParseDuration)},
		{"log_size", parsed(&a.LogSize, ParseSize)},
		{"work_size", parsed(&a.WorkSize, ParseSize)},
		{"work_files", number(&a.WorkFiles, ParseWorkFiles)},
		{"work_storage", text(&a.WorkStorage)},
		{"preload", text(&a.Preload)},
		{"warm", text(&a.Warm)},
		{"allow_hosts", list(&a.AllowHosts)},
		{"allow_upload", parsed(&a.Upload, ParseSize)},
		{"limits", text(&a.Limits)},
		{"digest_inputs", text(&a.DigestInputs)},
		{"deterministic", boolean(&a.Deterministic)},
		{"keep", text(&a.Keep)},
	}
}

func findField(fields []field, key *yaml.Node) (setter, error) {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.name == key.Value {
			return named(f), nil
		}
		names = append(names, f.name)
	}
	return nil, wrong(key, "unknown field %s%s", quote(key.Value), suggestion(key.Value, names))
}

// named prefixes its setter's errors with the field's name.
func named(f field) setter {
	return func(node *yaml.Node) error {
		if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
			return wrong(node, "%s: has no value; give it one or take the line out", f.name)
		}
		err := checkTags(node)
		if err == nil {
			err = f.set(node)
		}
		var at *lineError
		if errors.As(err, &at) {
			return &lineError{at.line, f.name + ": " + at.text}
		}
		return err
	}
}

// scalar returns a plain value's text verbatim, so that 007 and 1e3 are kept and yes does not become true.
func scalar(node *yaml.Node) (string, error) {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return "", wrong(node, "a manifest has no anchors and aliases; write the value out")
	}
	if node.Kind != yaml.ScalarNode {
		return "", wrong(node, "must be text, not %s", kindOf(node))
	}
	if node.ShortTag() == "!!null" {
		return "", wrong(node, "must be text, not nothing; write \"\" for an empty text")
	}
	if strings.ContainsRune(node.Value, 0) {
		return "", wrong(node, "%s has a NUL byte", quote(node.Value))
	}
	return node.Value, nil
}

func text(to *string) setter {
	return func(node *yaml.Node) (err error) {
		if *to, err = scalar(node); err == nil && *to == "" {
			return wrong(node, "is empty; give it a value or take the line out")
		}
		return err
	}
}

func list(to *[]string) setter {
	return func(node *yaml.Node) error {
		if node.Kind != yaml.SequenceNode {
			return wrong(node, "must be a list such as [a, b], not %s", kindOf(node))
		}
		*to = make([]string, 0, len(node.Content))
		for _, item := range node.Content {
			word, err := scalar(item)
			if err != nil {
				return err
			}
			*to = append(*to, word)
		}
		return nil
	}
}

func dictionary(to *map[string]string) setter {
	return func(node *yaml.Node) error {
		if node.Kind != yaml.MappingNode {
			return wrong(node, "must be a mapping such as {NAME: value}, not %s", kindOf(node))
		}
		*to = make(map[string]string, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, err := scalar(node.Content[i])
			if err != nil {
				return err
			}
			if _, ok := (*to)[key]; ok {
				return wrong(node.Content[i], "%s is given twice", quote(key))
			}
			if (*to)[key], err = scalar(node.Content[i+1]); err != nil {
				return err
			}
		}
		return nil
	}
}

// boolean accepts true or false, but not YAML 1.1's other words.
func boolean(to **bool) setter {
	return func(node *yaml.Node) error {
		if node.Kind != yaml.ScalarNode || node.Value != "true" && node.Value != "false" || node.ShortTag() != "!!bool" {
			return wrong(node, "must be true or false, not %s", kindOf(node))
		}
		on := node.Value == "true"
		*to = &on
		return nil
	}
}

// parsed accepts number or text.
func parsed[T any](to *T, parse func(string) (T, error)) setter {
	return func(node *yaml.Node) error {
		word, err := scalar(node)
		if err != nil {
			return err
		}
		if *to, err = parse(word); err != nil {
			return wrong(node, "%v", err)
		}
		return nil
	}
}

// number takes a number alone, as JSON readers of the analysis do.
func number[T any](to *T, parse func(string) (T, error)) setter {
	return func(node *yaml.Node) error {
		if tag := node.ShortTag(); node.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
			return wrong(node, "must be a number, not %s", kindOf(node))
		}
		return parsed(to, parse)(node)
	}
}

// FieldNames are the names of a manifest's fields, in the order of the documentation.
func FieldNames() []string {
	var names []string
	for _, f := range manifestFields(&Analysis{}) {
		names = append(names, f.name)
	}
	return names
}
