package plan

import (
	"reflect"
	"runtime"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// acted is a plan with the report of its run, of which all is known that an action needs.
func acted(a spec.Analysis) (*Plan, result.Report) {
	sum := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	p := &Plan{Analysis: a, Command: []string{"python3", "/analysis/a.py", "1"}, Inputs: &inputs.Set{HasData: true}, secrets: map[string]string{"TOKEN": "x"}}
	return p, result.Report{
		Script: &result.Script{SHA256: sum},
		Inputs: []result.Input{
			{Flag: "--rootfs", Source: spec.RootfsHost, Destination: "/", Digested: "listing", SHA256: &sum},
			{Flag: "--data", Source: "/srv/data", Destination: "/data", Digested: "content", SHA256: &sum},
		},
	}
}

// earlier is an analysis that earlier programs have recorded, complete.
func earlier() spec.Analysis {
	a := spec.Analysis{
		ID: "run-1", Labels: map[string]string{"l": "1"}, Script: "/srv/a.py", Args: []string{"1"}, Env: map[string]string{"LEVEL": "2"}, Secrets: []string{"TOKEN"},
		Data: "/srv/data", Docs: "none", Outputs: []string{"*.csv"},
	}
	return a.WithDefaults()
}

// TestActionOfEarlierPrograms: with another digest --reuse finds no earlier result. It is to change only if analyses get another
// environment.
func TestActionOfEarlierPrograms(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the digest below is that of amd64")
	}
	const recorded = "129510d96a52d9f992880054f239c273e25613fbb2c89957572e68cf058241e7"
	p, report := acted(earlier())
	if got := digestOf(t, p, report); got != recorded {
		t.Errorf("the digest of an earlier program's action is %s, and was %s", got, recorded)
	}
}

func digestOf(t *testing.T, p *Plan, report result.Report) string {
	t.Helper()
	id, err := p.ActionID(report)
	if err != nil || id == nil {
		t.Fatalf("no digest: %v", err)
	}
	return *id
}

// TestActionHasEveryField: each field of an analysis is part of the action, or known to decide no output. The plan has further
// parts of some: the command, inputs by their digests, and the user id.
func TestActionHasEveryField(t *testing.T) {
	decides := map[string]any{
		"Env": map[string]string{"LEVEL": "3"}, "Secrets": []string{"OTHER"}, "Outputs": []string{"*.txt"}, "Exclude": []string{"*.log"},
		"Memory": spec.Size(1 << 30), "CPUs": 2.5, "Pids": int64(7), "WorkSize": spec.Size(1 << 20), "WorkFiles": int64(9),
		"WorkStorage": "tmpfs", "Deterministic": new(true), "Workdir": "/srv/project",
	}
	elsewhere := map[string]string{
		"Command": "as it is executed, in the plan", "Script": "by its digest", "Args": "in the plan's command",
		"Data": "by its digest", "Docs": "by its digest", "Project": "by its digest", "Inputs": "by their digests", "Stage": "by its digest",
		"Rootfs": "by its digest", "Runtime": "by its digest", "IDs": "as the user id, in the plan", "AllowHosts": "there is no action then",
	}
	without := map[string]string{
		"ID": "a name", "Labels": "names", "Export": "a copy of the outputs", "Timeout": "ends a run, which is not complete then", "Grace": "the same",
		"LogSize": "bounds logs", "Upload": "bounds requests", "Limits": "how limits are held", "DigestInputs": "what is recorded", "Keep": "what stays",
		"Preload": "how a start is prepared", "Warm": "the same",
	}
	p, report := acted(earlier())
	before := digestOf(t, p, report)
	for field := range reflect.TypeFor[spec.Analysis]().Fields() {
		_, isElsewhere := elsewhere[field.Name]
		_, isWithout := without[field.Name]
		value, isDecisive := decides[field.Name]
		switch {
		case isElsewhere || isWithout:
		case !isDecisive:
			t.Errorf("is %s a part of an action? Say so in action.go and here", field.Name)
		default:
			changed := earlier()
			reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(value))
			p, report := acted(changed)
			if digestOf(t, p, report) == before {
				t.Errorf("another %s is the same action", field.Name)
			}
		}
	}
}
