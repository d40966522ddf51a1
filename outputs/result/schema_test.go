package result

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// node is the part of a JSON schema that names fields.
type node struct {
	Ref        string `json:"$ref"`
	Enum       []any
	Properties map[string]*node
	Items      *node
	AnyOf      []*node
	Defs       map[string]*node `json:"$defs"`
}

func readSchema(t *testing.T) *node {
	t.Helper()
	raw, err := os.ReadFile("../../docs/schema/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema node
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// TestReasonsAreThoseOfTheSchema: a new reason belongs to a state and is in the schema.
func TestReasonsAreThoseOfTheSchema(t *testing.T) {
	want := []string{"", "memory_limit"} // that of a run that has not ended, and one that earlier programs wrote
	for _, reason := range outcome.Reasons() {
		want = append(want, string(reason))
	}
	var got []string
	for _, reason := range readSchema(t).Properties["reason"].Enum {
		got = append(got, reason.(string))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the schema has %q, the code %q", got, want)
	}
	if !slices.Contains(outcome.Reasons(), outcome.ReasonsOf(outcome.Complete)[0]) {
		t.Error("a complete run has a reason of its own")
	}
}

// TestFieldsAreThoseOfTheSchema: a new field is in the schema, at any depth.
func TestFieldsAreThoseOfTheSchema(t *testing.T) {
	schema := readSchema(t)
	compare(t, "result", reflect.TypeFor[Result](), schema, schema.Defs)
}

// compare compares the fields of a type with the properties of a schema.
func compare(t *testing.T, at string, of reflect.Type, schema *node, defs map[string]*node) {
	t.Helper()
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
		of = of.Elem()
	}
	schema = resolve(schema, defs)
	if of.Kind() != reflect.Struct || schema.Properties == nil {
		return
	}
	fields := fieldsOf(of)
	for name, field := range fields {
		if schema.Properties[name] == nil {
			t.Errorf("%s.%s is not in docs/schema/result.json", at, name)
			continue
		}
		compare(t, at+"."+name, field, schema.Properties[name], defs)
	}
	for name := range schema.Properties {
		if fields[name] == nil {
			t.Errorf("%s.%s is in docs/schema/result.json alone", at, name)
		}
	}
}

// resolve follows references, items and the first of alternatives.
func resolve(n *node, defs map[string]*node) *node {
	switch {
	case n.Ref != "":
		return resolve(defs[strings.TrimPrefix(n.Ref, "#/$defs/")], defs)
	case n.Items != nil:
		return resolve(n.Items, defs)
	case len(n.AnyOf) > 0:
		return resolve(n.AnyOf[0], defs)
	}
	return n
}

// fieldsOf are the fields of a struct and of those it embeds, by their names in JSON.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}
