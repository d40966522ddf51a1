package trials

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
)

// got is an outcome of pairs of steps and results.
func got(pairs ...string) canary.Outcome {
	o := canary.Outcome{Got: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Got[pairs[i]] = pairs[i+1]
	}
	return o
}

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
		p.Controlled = c.controlled
		check := p.Verdict(c.said, "it died")
		if check.Result != c.want || check.Target != "127.0.0.1:1" || check.Check != "tcp" || check.Detail == "" {
			t.Errorf("%s: %+v, want %s", c.name, check, c.want)
		}
		if c.said == nil && !strings.Contains(check.Detail, "it died") {
			t.Errorf("%s: %q does not say why", c.name, check.Detail)
		}
	}
}
