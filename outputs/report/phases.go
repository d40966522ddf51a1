package report

import (
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// phase is one part of a run's time.
type phase struct {
	Name, Class string
	Took        string
	X, Width    string // of the bar, of 100
	ms          int64
}

// newPhases divides the time from the request to the commit, by the times in the result and the duration of the analysis
// itself; `run --trace` has more detail.
func newPhases(r result.Result) []phase {
	if r.CreatedAt == nil || r.StartedAt == nil || r.FinishedAt == nil {
		return nil
	}
	before := r.StartedAt.Sub(*r.CreatedAt).Milliseconds()
	after := r.FinishedAt.Sub(*r.StartedAt).Milliseconds() - r.Usage.WallMS - r.Usage.SuspendedMS
	all := []phase{
		{Name: "until it started: queue, checks, sandbox", Class: "p1", ms: before},
		{Name: "the analysis", Class: "p2", ms: r.Usage.WallMS},
		{Name: "suspended", Class: "p3", ms: r.Usage.SuspendedMS},
		{Name: "harvest, up to the commit", Class: "p4", ms: after},
	}
	if r.PostProcess != nil && r.PostProcess.StartedAt != nil {
		all = append(all, phase{Name: "post-processing, after the commit", Class: "p3", ms: r.PostProcess.WallMS})
	}
	return lay(all)
}

// lay positions the phases. Those of no duration, by the clock's milliseconds or since it was set, are omitted.
func lay(all []phase) []phase {
	var laid []phase
	var total, at int64
	for _, p := range all {
		total += max(p.ms, 0)
	}
	for _, p := range all {
		if p.ms <= 0 {
			continue
		}
		p.Took = format.Duration(p.ms)
		p.X, p.Width = number(100*float64(at)/float64(total)), number(100*float64(p.ms)/float64(total))
		at += p.ms
		laid = append(laid, p)
	}
	return laid
}
