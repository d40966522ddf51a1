package selftest

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A control that reached nothing makes a pass inconclusive, and no failure better.
func TestVerdict(t *testing.T) {
	p := tcpTrial("127.0.0.1:1")
	closed, open := got("connect", "ECONNREFUSED"), got("connect", "ok")
	for _, c := range []struct {
		name       string
		controlled bool
		said       *canary.Outcome
		want       judge.Result
	}{
		{"refused, while it answers outside", true, &closed, judge.Pass},
		{"refused, as outside", false, &closed, judge.Inconclusive},
		{"reached", true, &open, judge.Fail},
		{"reached, though not outside", false, &open, judge.Fail},
		{"not told", true, nil, judge.Fail},
		{"not told, and not reached outside", false, nil, judge.Fail},
	} {
		p.controlled = c.controlled
		check := p.verdict(c.said, "it died")
		if check.Result != c.want || check.Target != "127.0.0.1:1" || check.Check != "tcp" || check.Detail == "" {
			t.Errorf("%s: %+v, want %s", c.name, check, c.want)
		}
		if c.said == nil && !strings.Contains(check.Detail, "it died") {
			t.Errorf("%s: %q does not say why", c.name, check.Detail)
		}
	}
}

func TestUnheld(t *testing.T) {
	for limits, want := range map[string]judge.Result{spec.LimitsEnforce: judge.Fail, spec.LimitsBestEffort: judge.Accepted, "": judge.Fail} {
		if c := unheld(result.Enforcement{Limit: "cpus", Asked: "1", By: "none"}, limits); c.Result != want {
			t.Errorf("--limits %q: %+v, want %s", limits, c, want)
		}
	}
}
