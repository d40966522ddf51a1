package judge

import (
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/audit"
)

func TestAsked(t *testing.T) {
	at := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	one := func(host, verdict string) result.Request {
		at = at.Add(time.Second)
		return result.Request{At: at, Method: "GET", Host: host, Port: 80, Verdict: verdict}
	}
	if got := asked(nil); got != nil {
		t.Errorf("%+v", got)
	}
	got := asked(&result.Requests{List: []result.Request{
		one("a", result.RequestAllowed), one("b", result.RequestRefused), one("a", result.RequestAllowed), one("a", result.RequestFailed),
	}})
	want := []struct {
		address  string
		severity audit.Severity
		allowed  bool
		count    int64
	}{{"GET a:80", audit.Low, true, 2}, {"GET b:80", audit.Medium, false, 1}, {"GET a:80", audit.Low, true, 1}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		e := got[i]
		if string(e.Address) != w.address || e.Severity != w.severity || e.Allowed != w.allowed || e.Count != w.count || e.Kind != audit.Request || e.At.IsZero() {
			t.Errorf("%d: %+v, want %+v", i, e, w)
		}
	}
}
