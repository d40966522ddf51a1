package selftest

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestUnheld(t *testing.T) {
	for limits, want := range map[string]judge.Result{spec.LimitsEnforce: judge.Fail, spec.LimitsBestEffort: judge.Accepted, "": judge.Fail} {
		if c := unheld(result.Enforcement{Limit: "cpus", Asked: "1", By: "none"}, limits); c.Result != want {
			t.Errorf("--limits %q: %+v, want %s", limits, c, want)
		}
	}
}
