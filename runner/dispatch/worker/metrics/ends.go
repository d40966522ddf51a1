package metrics

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// end is how an attempt ended.
type end struct {
	state  outcome.State
	reason outcome.Reason
}

// other is the reason of an end that is unknown here, so that no label has an unexpected value.
const other outcome.Reason = "other"

// ends are all possible ends.
func ends() (all []end) {
	for _, state := range []outcome.State{outcome.Complete, outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost} {
		for _, reason := range append(outcome.ReasonsOf(state), other) {
			all = append(all, end{state, reason})
		}
	}
	return all
}

// endOf is the one of ends that counts a result.
func endOf(r result.Result) end {
	for _, e := range []end{{r.State, r.Reason}, {r.State, other}} {
		if slices.Contains(ends(), e) {
			return e
		}
	}
	return end{outcome.Error, other}
}
