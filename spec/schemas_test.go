package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// keywordTypes are the types of the values that a keyword of JSON Schema 2020-12 says something about.
var keywordTypes = map[string][]string{
	"minimum": {"number", "integer"}, "maximum": {"number", "integer"}, "exclusiveMinimum": {"number", "integer"},
	"exclusiveMaximum": {"number", "integer"}, "multipleOf": {"number", "integer"},
	"minLength": {"string"}, "maxLength": {"string"}, "pattern": {"string"}, "contentEncoding": {"string"},
	"items": {"array"}, "contains": {"array"}, "minItems": {"array"}, "maxItems": {"array"}, "uniqueItems": {"array"},
	"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "patternProperties": {"object"},
	"propertyNames": {"object"}, "dependentRequired": {"object"}, "minProperties": {"object"}, "maxProperties": {"object"},
}

// otherKeywords are for values of any type. format is missing: ajv's validators need a plugin for it.
var otherKeywords = []string{
	"$schema", "$id", "$ref", "$defs", "title", "description", "default", "type", "const", "enum",
	"allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// strictness finds what ajv refuses with strict and strictTypes.
type strictness struct{ problems []string }

func (s *strictness) add(at, format string, args ...any) {
	s.problems = append(s.problems, at+": "+fmt.Sprintf(format, args...))
}

// look looks at a schema. outer are the types that the schemas around it leave to the same value.
func (s *strictness) look(at string, schema any, outer []string) {
	object, ok := schema.(map[string]any)
	if !ok {
		return // true or false
	}
	types := s.types(at, object, outer)
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		fitting, typed := keywordTypes[keyword]
		if !typed && !slices.Contains(otherKeywords, keyword) {
			s.add(at, "unknown keyword %q", keyword)
		}
		if typed && !slices.ContainsFunc(types, func(t string) bool { return slices.Contains(fitting, t) }) {
			s.add(at, "%q without type %q", keyword, fitting[0])
		}
		s.inner(at+"/"+keyword, keyword, object[keyword], types)
	}
}

// types are those that the schema states, or else the schemas around it. A value has one type, or it may be null too.
func (s *strictness) types(at string, object map[string]any, outer []string) []string {
	var own []string
	switch stated := object["type"].(type) {
	case string:
		own = []string{stated}
	case []any:
		for _, one := range stated {
			own = append(own, fmt.Sprint(one))
		}
	}
	if len(own) > 2 || len(own) == 2 && !slices.Contains(own, "null") {
		s.add(at, "several types, %q; say anyOf", own)
	}
	if own == nil {
		return outer
	}
	return own
}

// inner looks at the schemas in a keyword: of the same value, or of parts of it.
func (s *strictness) inner(at, keyword string, value any, types []string) {
	switch keyword {
	case "allOf", "anyOf", "oneOf":
		for i, one := range value.([]any) {
			s.look(fmt.Sprintf("%s/%d", at, i), one, types)
		}
	case "not", "if", "then", "else":
		s.look(at, value, types)
	case "items", "contains", "additionalProperties", "propertyNames":
		s.look(at, value, nil)
	case "properties", "patternProperties", "$defs":
		for name, one := range value.(map[string]any) {
			s.look(at+"/"+name, one, nil)
		}
	}
}

func strictProblems(t *testing.T, text []byte) (id string, problems []string) {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	id, _ = schema["$id"].(string)
	var s strictness
	s.look("#", schema, nil)
	return id, s.problems
}

// TestSchemasAreStrict: validators such as ajv refuse in their strict mode a schema with a keyword that a value of its type
// would pass unseen, and find another by its $id.
func TestSchemasAreStrict(t *testing.T) {
	const base = "https://raw.githubusercontent.com/scidex-ai/scidex-oci/main/docs/schema/"
	files, err := filepath.Glob("../docs/schema/*.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		id, problems := strictProblems(t, text)
		if want := base + filepath.Base(file); id != want {
			t.Errorf("%s: $id is %q, want %q", file, id, want)
		}
		for _, problem := range problems {
			t.Errorf("%s: %s", file, problem)
		}
	}
}

// TestStrictnessFinds tests the check itself.
func TestStrictnessFinds(t *testing.T) {
	for text, want := range map[string]string{
		`{"properties": {}}`: `#: "properties" without type "object"`,
		`{"type": "object", "properties": {"a": {"minimum": 1}}}`:                                  `#/properties/a: "minimum" without`,
		`{"type": "string", "minItems": 1}`:                                                        `"minItems" without type "array"`,
		`{"type": ["string", "number"]}`:                                                           "say anyOf",
		`{"type": "string", "format": "date-time"}`:                                                `unknown keyword "format"`,
		`{"type": "array", "items": {"pattern": "a"}}`:                                             `#/items: "pattern"`,
		`{"if": {"required": ["a"]}}`:                                                              `#/if: "required"`,
		`{"type": ["string", "null"], "pattern": "a"}`:                                             "",
		`{"type": "object", "anyOf": [{"required": ["a"]}], "additionalProperties": {"const": 1}}`: "",
	} {
		_, problems := strictProblems(t, []byte(text))
		if got := strings.Join(problems, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
