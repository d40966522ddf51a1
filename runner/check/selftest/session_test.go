package selftest

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

func TestAllowing(t *testing.T) {
	r := &phase.Host{AllowBinds: []binds.Allowed{{File: "c", Prefixes: []string{"/srv"}}, {File: "d"}}}
	wider := allowing(r, "/tmp/x")
	if len(wider.AllowBinds) != 2 || len(wider.AllowBinds[0].Prefixes) != 2 || wider.AllowBinds[1].Prefixes[0] != "/tmp/x" {
		t.Errorf("%+v", wider.AllowBinds)
	}
	if len(r.AllowBinds[0].Prefixes) != 1 || len(r.AllowBinds[1].Prefixes) != 0 {
		t.Errorf("the caller's runner was changed: %+v", r.AllowBinds)
	}
	if allowing(&phase.Host{}, "/tmp/x").AllowBinds != nil {
		t.Error("a restriction came out of nothing")
	}
}
