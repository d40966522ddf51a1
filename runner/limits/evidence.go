package limits

import (
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
)

// evidenceOf converts a group's counters; limit is the run's own.
func evidenceOf(e cgroup.Evidence, limit int64) result.Evidence {
	evidence := result.Evidence{
		OOMKills: e.OOMKills, PidsDenied: e.PidsDenied,
		ThrottledMS: e.Throttled.Milliseconds(), ThrottledPeriods: e.ThrottledPeriods, Periods: e.Periods,
	}
	if e.OOMKills == 0 {
		return evidence
	}
	switch short := e.Shortage; {
	case short.Own && short.Outer > 0:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMEither}
	case short.Own:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMOwn, Bytes: limit}
	case short.Outer > 0:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMOuter, Bytes: short.Outer}
	default:
		evidence.OOMLimit = &result.OOMLimit{By: result.OOMUnknown}
	}
	return evidence
}
