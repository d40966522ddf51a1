package selftest

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// A control that reached nothing makes a pass inconclusive, and no failure better.
func TestVerdict(t *testing.T) {
	p := tcpTrial("127.0.0.1:1")
	closed, open := got("connect", "ECONNREFUSED"), got("connect", "ok")
	for _, c := range []struct {
		name       string
		controlled bool
		said       *canary.Outcome
		want       check.Status
	}{
		{"refused, while it answers outside", true, &closed, check.Pass},
		{"refused, as outside", false, &closed, check.Inconclusive},
		{"reached", true, &open, check.Fail},
		{"reached, though not outside", false, &open, check.Fail},
		{"not told", true, nil, check.Fail},
		{"not told, and not reached outside", false, nil, check.Fail},
	} {
		p.controlled = c.controlled
		k := p.check(c.said, "it died")
		f := k.Do(t.Context())
		if f.Status != c.want || k.Target != "127.0.0.1:1" || k.Name != "tcp" || f.Seen == "" {
			t.Errorf("%s: %+v, want %s", c.name, f, c.want)
		}
		if c.said == nil && !strings.Contains(f.Seen, "it died") {
			t.Errorf("%s: %q does not say why", c.name, f.Seen)
		}
	}
}
