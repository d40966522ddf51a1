package serve

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// node is the part of a JSON schema that names fields.
type node struct {
	Enum       []any
	Properties map[string]*node
	Defs       map[string]*node `json:"$defs"`
}

func readSchema(t *testing.T) *node {
	t.Helper()
	raw, err := os.ReadFile("../../../docs/schema/serve.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema node
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// TestMethodsAreThoseOfTheSchema: a new method stands in the schema, with its parameters and its answer.
func TestMethodsAreThoseOfTheSchema(t *testing.T) {
	schema := readSchema(t)
	var got []string
	for _, name := range schema.Defs["request"].Properties["method"].Enum {
		got = append(got, name.(string))
	}
	if want := slices.Sorted(maps.Keys(methods)); !slices.Equal(got, want) {
		t.Errorf("the schema has %q, the code %q", got, want)
	}
	for name := range methods {
		for _, part := range []string{name + ".params", name + ".result"} {
			if schema.Defs[part] == nil {
				t.Errorf("the schema has no %s", part)
			}
		}
	}
}

// TestFieldsAreThoseOfTheSchema: a new parameter or field of an answer stands in the schema.
func TestFieldsAreThoseOfTheSchema(t *testing.T) {
	schema := readSchema(t)
	for name, value := range shapes {
		var got []string
		for i := range reflect.TypeOf(value).NumField() {
			tag, _, _ := strings.Cut(reflect.TypeOf(value).Field(i).Tag.Get("json"), ",")
			got = append(got, tag)
		}
		slices.Sort(got)
		if want := slices.Sorted(maps.Keys(schema.Defs[name].Properties)); !slices.Equal(got, want) {
			t.Errorf("%s: the schema has %q, the code %q", name, want, got)
		}
	}
	for name := range schema.Defs {
		if _, known := shapes[name]; !known && strings.HasSuffix(name, ".params") {
			t.Errorf("no test knows %s", name)
		}
	}
}

// shapes are the parameters and the answers that are not a result.
var shapes = map[string]any{
	"run.params": runParams{}, "submit.params": runParams{}, "wait.params": nameParams{}, "stop.params": stopParams{},
	"show.params": nameParams{}, "list.params": listParams{}, "cancel.params": cancelParams{},
	"logs.params": logsParams{}, "outputs.params": outputsParams{}, "read.params": readParams{}, "export.params": exportParams{},
	"doctor.params": doctorParams{}, "logs.result": logsAnswer{}, "outputs.result": outputsAnswer{}, "read.result": readAnswer{}, "export.result": exported{},
	"submit.result": submitted{}, "list.result": list{}, "cancel.result": canceledAnswer{},
}

// TestCodesAreThoseOfTheSchema: a new code of an error stands in the schema.
func TestCodesAreThoseOfTheSchema(t *testing.T) {
	want := []int{
		rpc.CodeParse, rpc.CodeInvalidRequest, rpc.CodeNoMethod, rpc.CodeInvalidParams, rpc.CodeInternal,
		rpc.CodeFailed, rpc.CodeNotFound, rpc.CodeBusy, rpc.CodeDraining, rpc.CodeCanceled,
	}
	var got []int
	for _, code := range readSchema(t).Defs["error"].Properties["code"].Enum {
		got = append(got, int(code.(float64)))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the schema has %d, the code %d", got, want)
	}
}
