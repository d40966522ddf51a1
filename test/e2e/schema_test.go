package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemas are those of docs/schema by their file names, compiled together: one refers to another by its name.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	files, err := filepath.Glob("../../docs/schema/*.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("docs/schema holds no schema: %w", err)
	}
	compiler, ids := jsonschema.NewCompiler(), map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		id, _ := document.(map[string]any)["$id"].(string)
		if err := compiler.AddResource(id, document); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		ids[filepath.Base(file)] = id
	}
	compiled := map[string]*jsonschema.Schema{}
	for name, id := range ids {
		if compiled[name], err = compiler.Compile(id); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return compiled, nil
})

// validate holds a JSON document against a schema of docs/schema.
func validate(schema string, raw []byte) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	rules, ok := all[schema]
	if !ok {
		return fmt.Errorf("no schema %s", schema)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if err := rules.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", schema, err)
	}
	return nil
}

// decode reads a document of a schema of docs/schema into v.
func decode(schema string, raw []byte, v any) error {
	if err := validate(schema, raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
