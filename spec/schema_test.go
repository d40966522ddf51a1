package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

const schemaFile = "../docs/schema/manifest.json"

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// bySchema is the verdict of the schema on a manifest in YAML or JSON.
func bySchema(t *testing.T, schema *jsonschema.Schema, manifest []byte) error {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(manifest, &value); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(value)
}

func byParser(manifest []byte) error {
	a, err := ParseManifest(manifest, "m")
	if err != nil {
		return err
	}
	return a.Validate()
}

// TestOneSetOfFields holds the struct, the table and the schema together: each field of the struct has a row that points to it and
// says what takes part in it, and the schema has its type, its choices and its default.
func TestOneSetOfFields(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	type property struct {
		Type    string
		Enum    []string
		Default any
	}
	var schema struct{ Properties map[string]property }
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	var a Analysis
	rows := map[any]Field{}
	for _, f := range Fields() {
		rows[f.At(&a)] = f
	}
	value := reflect.ValueOf(&a).Elem()
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		f, ok := rows[value.Field(i).Addr().Interface()]
		switch {
		case !ok:
			t.Errorf("%s has no row in spec/fields.go", name)
			continue
		case f.Name != name || f.Group == "" || f.About == "" || (f.Help == "") != (f.Flag == ""):
			t.Errorf("%s: its row is not complete: %+v", name, f)
		}
		if _, isWhole := f.At(&a).(*int64); isWhole != (f.whole != nil) {
			t.Errorf("%s: a row of whole numbers, and no other, has a parser of them", name)
		}
		p, ok := schema.Properties[name]
		if wanted := map[reflect.Kind]string{reflect.Slice: "array", reflect.Map: "object", reflect.Pointer: "boolean"}[value.Field(i).Kind()]; !ok || wanted != "" && p.Type != wanted {
			t.Errorf("%s: the schema has %+v of type %q", name, p, wanted)
		}
		if !slices.Equal(p.Enum, f.Choices) {
			t.Errorf("%s: the schema has the choices %q, the row %q", name, p.Enum, f.Choices)
		}
		if _, list := f.unset.([]string); f.unset != nil && !list && fmt.Sprint(p.Default) != fmt.Sprint(f.unset) {
			t.Errorf("%s: the schema has the default %v, the row %v", name, p.Default, f.unset)
		}
	}
	if len(rows) != value.NumField() || len(schema.Properties) != value.NumField() {
		t.Errorf("%d fields have %d rows and %d properties in the schema", value.NumField(), len(rows), len(schema.Properties))
	}
}

// TestBoundsOfNumbers: a number has bounds, the same in the schema and in Validate, and zero is outside of them: it is unset.
func TestBoundsOfNumbers(t *testing.T) {
	type bounded struct {
		Minimum, Maximum float64
		AnyOf            []bounded
	}
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ Properties map[string]bounded }
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, f := range Fields() {
		p := schema.Properties[f.Name]
		if len(p.AnyOf) > 0 {
			p = p.AnyOf[0] // the second one is text with a unit
		}
		var set func(v reflect.Value, x float64)
		var step float64
		switch f.At(&Analysis{}).(type) {
		case *Size, *int64:
			set, step = func(v reflect.Value, x float64) { v.SetInt(int64(x)) }, 1
		case *Duration: // seconds
			set, step = func(v reflect.Value, x float64) { v.SetInt(int64(x * 1e9)) }, 1e-9
		case *float64:
			set, step = reflect.Value.SetFloat, 1e-6
		default:
			continue
		}
		if p.Minimum <= 0 || p.Maximum <= p.Minimum {
			t.Errorf("%s: the schema has the bounds %v and %v", f.Name, p.Minimum, p.Maximum)
			continue
		}
		for x, accepted := range map[float64]bool{
			p.Minimum: true, p.Maximum: true, p.Minimum - step: p.Minimum-step == 0, p.Maximum + step: false, -1: false,
		} {
			a := Analysis{Command: []string{"true"}, AllowHosts: []string{"api.example.org"}}
			set(f.in(&a), x)
			if err := a.Validate(); (err == nil) != accepted {
				t.Errorf("%s %v: %v, want it accepted: %v", f.Name, x, err, accepted)
			}
		}
	}
}

func TestSchemaAcceptsManifests(t *testing.T) {
	schema := compileSchema(t)
	var files []string
	for _, pattern := range []string{"testdata/manifests/*", "../examples/*/manifest.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v; want manifests", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := bySchema(t, schema, data); err != nil {
			t.Errorf("%s: schema: %v", file, err)
		}
		if err := byParser(data); err != nil {
			t.Errorf("%s: parser: %v", file, err)
		}
	}
	for _, a := range []Analysis{everyField(), everyField().WithDefaults(), Analysis{Command: []string{"a"}}.WithDefaults()} {
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := bySchema(t, schema, data); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// TestSchemaAgrees gives both readers the same manifests.
func TestSchemaAgrees(t *testing.T) {
	schema := compileSchema(t)
	for _, c := range []struct {
		manifest string
		accepted bool
	}{
		{"command: [a, 1, true]", true},
		{"script: a.py\nargs: [1.5]", true},
		{"script: a.py\nmemory: 4194304", true},
		{"script: a.py\nmemory: 1.5 GiB", true},
		{"script: a.py\ntimeout: 0.5", true},
		{"script: a.py\ntimeout: 1h30m", true},
		{"script: a.py\nexclude: []", true},
		{"script: a.py\nruntime: science", true},
		{"script: a.py\nruntime: /opt/envs/science", true},
		{"script: a.py\nwork_size: 1GiB\nwork_files: 1\nwork_storage: tmpfs", true},
		{"script: a.py\noutputs: ['**/*.csv', 'a..b', '.hidden']", true},
		{"script: a.py\nenv: {A_1: 2}\nsecrets: [B]", true},
		{"script: a.py\nlabels: {a/b: ''}", true},

		{"{}", false},
		{"command: [a]\nscript: a.py", false},
		{"command: []", false},
		{"command: a", false},
		{"command: [a]\nargs: [b]", false},
		{"script: ''", false},
		{"script: a.py\nunknown: 1", false},
		{"script: a.py\nruntime: ''", false},
		{"script: a.py\nruntime: [a]", false},
		{"script: a.py\nwork_size: 1048575", false},
		{"script: a.py\nwork_files: 0", false},
		{"script: a.py\nwork_files: 10000001", false},
		{"script: a.py\nwork_files: '5'", false},
		{"script: a.py\nwork_storage: ram", false},
		{"script: a.py\nmin_free: 5%", false},
		{"script: a.py\nid: ..", false},
		{"script: a.py\nid: a/b", false},
		{"script: a.py\nid: ''", false},
		{"script: a.py\nid: null", false},
		{"script: a.py\nmemory: 4194303", false},
		{"script: a.py\nmemory: -1", false},
		{"script: a.py\nmemory: lots", false},
		{"script: a.py\nmemory: [1]", false},
		{"script: a.py\ncpus: 0", false},
		{"script: a.py\ncpus: '1'", false},
		{"script: a.py\ncpus: 5000", false},
		{"script: a.py\npids: 1", false},
		{"script: a.py\npids: 1.5", false},
		{"script: a.py\ntimeout: 0.05", false},
		{"script: a.py\ntimeout: -5s", false},
		{"script: a.py\ntimeout: 5w", false},
		{"script: a.py\nlimits: enforced", false},
		{"script: a.py\nkeep: sometimes", false},
		{"script: a.py\nids: root", false},
		{"script: a.py\nrootfs: scientific", true},
		{"script: a.py\nrootfs: ./trees/a b", true},
		{"script: a.py\nrootfs: host.example/a/alpine:3.20", true},
		{"script: a.py\nrootfs: alpine:3.20", true},
		{"script: a.py\nrootfs: ..", true},
		{"script: a.py\nrootfs: -a", false},
		{"script: a.py\nrootfs: a b", false},
		{"script: a.py\nrootfs: ''", false},
		{"script: a.py\nenv: {1A: x}", false},
		{"script: a.py\nenv: {SCIDEX_WORK_DIR: x}", false},
		{"script: a.py\nenv: {A: [x]}", false},
		{"script: a.py\nsecrets: [SCIDEX_WORK_DIR]", false},
		{"script: a.py\nlabels: {-a: x}", false},
		{"script: a.py\noutputs: [/work/a]", false},
		{"script: a.py\noutputs: [a/../b]", false},
		{"script: a.py\noutputs: [./a]", false},
		{"script: a.py\noutputs: [a/]", false},
		{"script: a.py\nexclude: ['']", false},
	} {
		if err := bySchema(t, schema, []byte(c.manifest)); (err == nil) != c.accepted {
			t.Errorf("%q: schema: %v; want accepted: %v", c.manifest, err, c.accepted)
		}
		if err := byParser([]byte(c.manifest)); (err == nil) != c.accepted {
			t.Errorf("%q: parser: %v; want accepted: %v", c.manifest, err, c.accepted)
		}
	}
}
