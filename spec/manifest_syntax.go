package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

var syntaxForm = pattern(`^yaml: (?:line ([0-9]+): )?(.*)$`)

// parserProblems are messages of the YAML parser (not its scanner), for which the library counts lines from 0.
var parserProblems = []string{
	"did not find expected key", "did not find expected ','", "did not find expected '-' indicator",
	"did not find expected node content", "did not find expected <", "found duplicate %", "found incompatible",
	"found undefined tag handle",
}

// syntaxError corrects the line in an error of the YAML library, which omits the first line and is one behind in parser
// errors.
func syntaxError(err error) error {
	form := syntaxForm().FindStringSubmatch(err.Error())
	if form == nil {
		return &lineError{text: err.Error()}
	}
	if strings.HasPrefix(form[2], "unknown anchor") { // it has no line
		return &lineError{text: form[2] + ": a manifest has no aliases; put a value that begins with '*' in quotes"}
	}
	line := 1
	if form[1] != "" {
		line, _ = strconv.Atoi(form[1]) // digits by the form
		for _, problem := range parserProblems {
			if strings.HasPrefix(form[2], problem) {
				line++
				break
			}
		}
	}
	hint := ""
	if form[2] == "did not find expected alphabetic or numeric character" {
		hint = ": put a value that begins with '*' or '&' in quotes"
	}
	return &lineError{line, "malformed YAML: " + form[2] + hint}
}

// jsonError is what is wrong with a JSON text, with its line.
func jsonError(data []byte) error {
	var any json.RawMessage
	err := json.Unmarshal(data, &any)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	return &lineError{1 + bytes.Count(data[:syntax.Offset], []byte("\n")), "malformed JSON: " + err.Error()}
}

var escapeForm = pattern(`\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|.)`)

// plainEscapes replaces JSON escapes that this YAML parser lacks by their characters: an escaped slash, and pairs of
// UTF-16 surrogates, which JSON encoders write for characters beyond the basic plane (Python's json.dumps does). In JSON
// every backslash starts an escape.
func plainEscapes(data []byte) []byte {
	if !json.Valid(data) {
		return data
	}
	return escapeForm().ReplaceAllFunc(data, func(escape []byte) []byte {
		var text string
		known := len(escape) == 2 && escape[1] != '/'
		if known || json.Unmarshal([]byte(`"`+string(escape)+`"`), &text) != nil {
			return escape
		}
		return []byte(text)
	})
}

// kindOf names a value's kind for a message.
func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	case yaml.DocumentNode:
		return "a document"
	case yaml.ScalarNode:
		if node.ShortTag() == "!!null" {
			return "nothing"
		}
	}
	return "the value " + quote(node.Value)
}
