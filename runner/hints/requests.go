package hints

import "github.com/scidex-ai/scidex-oci/outputs/result"

// hostRefused says why the proxy refused the first request that it refused.
func hostRefused(f Facts) string {
	requests := f.Ended.Report.Requests
	if requests == nil || requests.Refused == 0 {
		return ""
	}
	for _, r := range requests.List {
		if r.Verdict == result.RequestRefused {
			return r.Why
		}
	}
	return ""
}
