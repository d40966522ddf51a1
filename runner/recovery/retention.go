package recovery

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Retention says which runs of a root gc expires: those that satisfy both bounds. The zero value expires none. What is pinned,
// has not ended, or is the only copy of what a run wrote stays in any case.
type Retention struct {
	Before      time.Time // runs that ended before; zero for any time
	KeepLast    int       // and that are not among the newest so many of the root; 0 for no such bound
	OutputsOnly bool      // only the contents of outputs: rows, digests, logs and kept directories stay
}

// Asked reports whether anything is to expire.
func (p Retention) Asked() bool { return !p.Before.IsZero() || p.KeepLast > 0 }

// covers reports whether the policy covers a run.
func (p Retention) covers(run catalog.Run) bool {
	if !run.State.Final() || run.Pinned || p.OutputsOnly && (run.OutputsTotal == 0 || !run.OutputsRemovedAt.IsZero()) {
		return false
	}
	ended := run.FinishedAt
	if ended.IsZero() {
		ended = run.CreatedAt
	}
	return p.Before.IsZero() || ended.Before(p.Before)
}
