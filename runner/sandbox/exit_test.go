package sandbox

import (
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// A supervisor whose clock was set has its times moved, and no duration changed.
func TestDate(t *testing.T) {
	theirs, ours := time.Unix(1_000_000, 0), time.Unix(100, 0)
	e := Exit{Started: theirs, Finished: theirs.Add(3 * time.Second), Audit: []audit.Event{{At: theirs.Add(time.Second)}}}
	e.Date(ours.Add(-3*time.Second), time.Unix(1, 0))
	if !e.Finished.Equal(ours) || !e.Started.Equal(ours.Add(-3*time.Second)) || !e.Audit[0].At.Equal(ours.Add(-2*time.Second)) {
		t.Errorf("%+v", e)
	}
	never := Exit{Finished: theirs}
	if never.Date(time.Time{}, ours); !never.Started.IsZero() || !never.Finished.Equal(ours) {
		t.Errorf("one that has not started: %+v", never)
	}
}
