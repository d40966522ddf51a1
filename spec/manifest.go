package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxManifest bounds a manifest in bytes; larger ones are data and should be inputs.
const maxManifest = 1 << 20

// ParseManifest parses one analysis from YAML or JSON. It is strict: one document, a mapping of known fields, each at
// most once and of its type. Errors start with "name:line: ". Defaults are not filled in and relative paths stay; see
// ResolvePaths, WithDefaults and Validate.
func ParseManifest(data []byte, name string) (Analysis, error) {
	a, err := parseManifest(data)
	if syntax := jsonError(data); err != nil && syntax != nil && strings.HasSuffix(name, ".json") {
		err = syntax
	}
	if err != nil {
		return Analysis{}, fmt.Errorf("%s:%w", name, err)
	}
	return a, nil
}

// ParseLine parses one analysis from a line of JSON, as strictly as ParseManifest. Errors start with "name:number: ";
// with an error only the id is set, if the line has a valid one.
func ParseLine(data []byte, name string, number int) (Analysis, error) {
	a, err := ParseObject(data)
	if err != nil {
		err = fmt.Errorf("%s:%d: %w", name, number, err)
	}
	return a, err
}

// ParseObject parses a manifest that is one line of JSON. For a refused one it returns only the id, if that is valid.
func ParseObject(data []byte) (Analysis, error) {
	a, err := Analysis{}, jsonObject(data)
	if err == nil {
		a, err = parseManifest(data)
	}
	if err == nil {
		return a, nil
	}
	text := strings.TrimPrefix(err.Error(), " ")
	var at *lineError
	if errors.As(err, &at) {
		text = at.text // its only line is the first
	}
	return Analysis{ID: lineID(data)}, errors.New(text)
}

// lineID is the id of a refused line, by which its result is known; "" if it has no valid one.
func lineID(data []byte) string {
	var fields map[string]json.RawMessage
	var id string
	if json.Unmarshal(data, &fields) != nil || json.Unmarshal(fields["id"], &id) != nil || ValidateID(id) != nil {
		return ""
	}
	return id
}

// jsonObject refuses YAML that is not JSON.
func jsonObject(data []byte) error {
	var object map[string]json.RawMessage
	err := json.Unmarshal(data, &object)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("malformed JSON: %w (byte %d); give one JSON object a line", err, syntax.Offset)
	case err != nil || object == nil:
		return errors.New(`not a JSON object; give one a line, such as {"id": "a", "command": ["true"]}`)
	}
	return nil
}

func parseManifest(data []byte) (a Analysis, err error) {
	if err := checkBytes(data); err != nil {
		return a, err
	}
	root, err := document(data)
	if err != nil {
		return a, err
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return a, wrong(key, "a field name must be a word, not %s", kindOf(key))
		}
		if err := checkTags(key); err != nil {
			return a, err
		}
		if first, ok := seen[key.Value]; ok {
			return a, wrong(key, "field %q is given twice, first in line %d", key.Value, first)
		}
		seen[key.Value] = key.Line
		if err := setField(&a, key, value); err != nil {
			return a, err
		}
	}
	return a, nil
}

// document parses a manifest's only document and returns its mapping.
func document(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(plainEscapes(data)))
	var doc, next yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, &lineError{text: "the manifest is empty: give it at least a command or a script"}
	case err != nil:
		return nil, syntaxError(err)
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, wrong(root, "a manifest must be a mapping of fields such as \"script: a.py\", not %s", kindOf(root))
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, wrong(&next, "a manifest must be one document; put further ones into files of their own")
	}
	return root, checkTags(&yaml.Node{Kind: root.Kind, Tag: root.Tag, Line: root.Line}) // field errors have names
}

// checkBytes refuses what no manifest has, before parsing.
func checkBytes(data []byte) error {
	if len(data) > maxManifest {
		return &lineError{text: fmt.Sprintf("the manifest has %d bytes; at most %d are read", len(data), maxManifest)}
	}
	line := 1
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return &lineError{line, fmt.Sprintf("byte 0x%02x is not UTF-8; save the manifest as UTF-8", data[i])}
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return &lineError{line, fmt.Sprintf("control character %U; take it out or write it as an escape in double quotes", r)}
		case r == '\n':
			line++
		}
		i += n
	}
	return nil
}

// lineError is an error in a line of a manifest; line 0 is all of it. Its text follows "name:".
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string {
	if e.line == 0 {
		return " " + e.text
	}
	return fmt.Sprintf("%d: %s", e.line, e.text)
}

func wrong(node *yaml.Node, format string, args ...any) error {
	return &lineError{node.Line, fmt.Sprintf(format, args...)}
}
