package selftest

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestUnheld(t *testing.T) {
	for limits, want := range map[string]check.Status{spec.LimitsEnforce: check.Fail, spec.LimitsBestEffort: check.Accepted, "": check.Fail} {
		if f := unheld(result.Enforcement{Limit: "cpus", Asked: "1", By: "none"}, limits).Do(t.Context()); f.Status != want {
			t.Errorf("--limits %q: %+v, want %s", limits, f, want)
		}
	}
}

func TestStrict(t *testing.T) {
	by := func(all ...string) (enforced []result.Enforcement) {
		for _, b := range all {
			enforced = append(enforced, result.Enforcement{By: b})
		}
		return enforced
	}
	for _, c := range []struct {
		limits   string
		enforced []result.Enforcement
		want     string
	}{
		{spec.LimitsBestEffort, by("cgroup", "watchdog"), spec.LimitsEnforce},
		{spec.LimitsBestEffort, by("cgroup", "none"), spec.LimitsBestEffort},
		{spec.LimitsBestEffort, by("rlimit", "cgroup"), spec.LimitsBestEffort},
		{spec.LimitsOuter, by("outer", "watchdog"), spec.LimitsOuter},
		{spec.LimitsEnforce, by("cgroup"), spec.LimitsEnforce},
	} {
		if got := strict(c.limits, c.enforced); got != c.want {
			t.Errorf("%s held by %v is tested with %s, want %s", c.limits, c.enforced, got, c.want)
		}
	}
}
