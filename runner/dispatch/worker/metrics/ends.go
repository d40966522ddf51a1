package metrics

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// end is how an attempt ended.
type end struct {
	state  catalog.State
	reason result.Reason
}

// other is the reason of an end that is unknown here, so that no label has an unexpected value.
const other result.Reason = "other"

// ends are all possible ends.
func ends() (all []end) {
	for _, of := range []struct {
		state   catalog.State
		reasons []result.Reason
	}{
		{catalog.Complete, []result.Reason{result.ReasonExit}},
		{catalog.Failed, []result.Reason{
			result.ReasonExit, result.ReasonSignal, result.ReasonTimeout, result.ReasonOutOfMemory, result.ReasonPidsLimit,
			result.ReasonWorkFull, result.ReasonHostFull, result.ReasonOutputMissing, result.ReasonNotFound,
			result.ReasonNotInvocable,
		}},
		{catalog.Canceled, []result.Reason{result.ReasonStopped}},
		{catalog.Error, []result.Reason{
			result.ReasonRequest, result.ReasonSandbox, result.ReasonHarvest, result.ReasonCommit, result.ReasonExport, result.ReasonPostProcess,
		}},
		{catalog.Lost, []result.Reason{result.ReasonSupervisorLost}},
	} {
		for _, reason := range append(of.reasons, other) {
			all = append(all, end{of.state, reason})
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
	return end{catalog.Error, other}
}
