package riverqueue

import (
	"encoding/json"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

// A request that is not allowed gets the defaults of an analysis, since the worker that runs it refuses it.
func TestJob(t *testing.T) {
	usual := spec.Analysis{}.WithDefaults()
	for request, want := range map[string]float64{
		`{"command": ["true"], "cpus": 0.5}`:                      0.5,
		`{"command": ["true"], "cpus": -1e308}`:                   usual.CPUs,
		`{"command": ["true"], "cpus": 2, "memory": -5}`:          usual.CPUs,
		`{"command": ["true"], "cpus": 2, "timeout": "-1h"}`:      usual.CPUs,
		`{"command": "true", "cpus": 2}`:                          usual.CPUs,
		`{"command": ["true"], "cpus": 1e308, "memory": "16TiB"}`: usual.CPUs,
	} {
		job := args{V: 1, ID: "a", Request: json.RawMessage(request)}.job()
		if job.CPUs != want || job.Memory <= 0 || job.Limit <= 0 {
			t.Errorf("%s: %+v, want %v CPUs", request, job, want)
		}
	}
}

// Equal requests have one digest, whatever their ids, and others have another.
func TestDigestOf(t *testing.T) {
	const plain = `{"command": ["true"]}`
	want, err := digestOf(json.RawMessage(plain))
	if err != nil {
		t.Fatal(err)
	}
	for request, same := range map[string]bool{
		`{"command": ["true"], "id": "a"}`:             true,
		`{"command": ["true"], "labels": {"k": "v"}}`:  true,
		`{"memory": "2GiB", "command": ["true"]}`:      true, // the default
		`{"command": ["true"], "memory": "1GiB"}`:      false,
		`{"command": ["false"]}`:                       false,
		`{"command": ["true"], "env": {"LABEL": "v"}}`: false,
	} {
		if got, err := digestOf(json.RawMessage(request)); err != nil || (got == want) != same {
			t.Errorf("%s: %s, that of %s is %s (%v)", request, got, plain, want, err)
		}
	}
}
