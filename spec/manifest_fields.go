package spec

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// setField sets the field that a key of a manifest names. Its error names the line.
func setField(a *Analysis, key, value *yaml.Node) error {
	i := slices.IndexFunc(fields[:], func(f Field) bool { return f.Name == key.Value })
	if i < 0 {
		return wrong(key, "unknown field %s%s", quote(key.Value), suggestion(key.Value, FieldNames()))
	}
	if value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null" {
		return wrong(value, "%s: has no value; give it one or take the line out", key.Value)
	}
	err := checkTags(value)
	if err == nil {
		err = fields[i].setNode(a, value)
	}
	var at *lineError
	if errors.As(err, &at) {
		return &lineError{at.line, key.Value + ": " + at.text}
	}
	return err
}

// setNode stores a node's value.
func (f Field) setNode(a *Analysis, node *yaml.Node) error {
	switch to := f.At(a).(type) {
	case *string:
		return text(to, node)
	case *[]string:
		return list(to, node)
	case *map[string]string:
		return dictionary(to, node)
	case **bool:
		return boolean(to, node)
	case *float64, *int64: // a number, as JSON readers of the analysis take it
		if tag := node.ShortTag(); node.Kind != yaml.ScalarNode || tag != "!!int" && tag != "!!float" {
			return wrong(node, "must be a number, not %s", kindOf(node))
		}
	}
	word, err := scalar(node)
	if err != nil {
		return err
	}
	if err := f.Parse(a, []string{word}); err != nil {
		return wrong(node, "%v", err)
	}
	return nil
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

func text(to *string, node *yaml.Node) (err error) {
	if *to, err = scalar(node); err == nil && *to == "" {
		return wrong(node, "is empty; give it a value or take the line out")
	}
	return err
}

func list(to *[]string, node *yaml.Node) error {
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

func dictionary(to *map[string]string, node *yaml.Node) error {
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

// boolean accepts true or false, but not YAML 1.1's other words.
func boolean(to **bool, node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode || node.Value != "true" && node.Value != "false" || node.ShortTag() != "!!bool" {
		return wrong(node, "must be true or false, not %s", kindOf(node))
	}
	on := node.Value == "true"
	*to = &on
	return nil
}

// FieldNames are the names of a manifest's fields.
func FieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}
