package plan

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// actionOf is the action of a request on the host's programs, whose secret TOKEN has a value; "" if it is not known.
func actionOf(t *testing.T, a spec.Analysis, value string, report result.Report) string {
	t.Helper()
	listed := strings.Repeat("0", 64)
	report.Inputs = []result.Input{{Source: spec.RootfsHost, Destination: "/", SHA256: &listed}}
	p := Plan{Analysis: a, Inputs: &inputs.Set{}, secrets: map[string]string{"TOKEN": value}}
	id, err := p.ActionID(report)
	if err != nil {
		t.Fatal(err)
	}
	if id == nil {
		return ""
	}
	return *id
}

// TestActionFields: each field of a request changes the action, except those whose rows say why not. --reuse would answer another
// request if one were forgotten.
func TestActionFields(t *testing.T) {
	plain := actionOf(t, spec.Analysis{}, "", result.Report{})
	for _, f := range spec.Fields() {
		var a spec.Analysis
		switch value := reflect.ValueOf(f.At(&a)).Elem(); value.Kind() {
		case reflect.String:
			value.SetString("/x")
		case reflect.Int64:
			value.SetInt(1)
		case reflect.Float64:
			value.SetFloat(1)
		case reflect.Slice:
			value.Set(reflect.ValueOf([]string{"TOKEN"}))
		case reflect.Map:
			value.Set(reflect.ValueOf(map[string]string{"K": "v"}))
		default:
			yes := true
			value.Set(reflect.ValueOf(&yes))
		}
		same := f.NotInAction != ""
		if got := actionOf(t, a, "", result.Report{}); (got == plain) != same {
			t.Errorf("%s: the action is the same: %v, want %v", f.Name, got == plain, same)
		}
	}
}

// TestActionOfReport: the action has what the report knows of the script and of the standard input.
func TestActionOfReport(t *testing.T) {
	seen := map[string]string{}
	for name, report := range map[string]result.Report{
		"nothing": {}, "script": {Script: &result.Script{SHA256: "a"}}, "standard input": {Stdin: &result.Stdin{SHA256: "a"}},
	} {
		id := actionOf(t, spec.Analysis{}, "", report)
		if other, twice := seen[id]; twice {
			t.Errorf("%s and %s are the same action", name, other)
		}
		seen[id] = name
	}
}

// TestActionOfSecret: the name of a secret is a part of the action, and its value is not: the digest would tell a guess from another.
func TestActionOfSecret(t *testing.T) {
	a := spec.Analysis{Secrets: []string{"TOKEN"}}
	if one, other := actionOf(t, a, "one", result.Report{}), actionOf(t, a, "other", result.Report{}); one != other {
		t.Errorf("%s with one value, %s with another", one, other)
	}
}

// TestActionOfEarlierPrograms: with another digest --reuse finds no earlier result. It is to change only if analyses get another
// environment.
func TestActionOfEarlierPrograms(t *testing.T) {
	const recorded = "070792ef7bd60af8f9303554bc4f9d7a1e81220ded7fa86202527f017cc36b30"
	if runtime.GOARCH != "amd64" {
		t.Skip("the digest is that of amd64")
	}
	a := spec.Analysis{Env: map[string]string{"LEVEL": "2"}, Secrets: []string{"TOKEN"}, Outputs: []string{"*.csv"}, Workdir: "/srv/project"}
	sum := strings.Repeat("a", 64)
	got := actionOf(t, a.WithDefaults(), "", result.Report{Script: &result.Script{SHA256: sum}, Stdin: &result.Stdin{SHA256: sum}})
	if got != recorded {
		t.Errorf("the digest of an earlier program's action is %s, and was %s", got, recorded)
	}
}
