package metrics

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
)

// end is how an attempt ended.
type end struct {
	state  catalog.State
	reason runner.Reason
}

// other is the reason of an end that is not known here, so that no label has a value that nobody expects.
const other runner.Reason = "other"

// ends are all that there may be.
func ends() (all []end) {
	for _, of := range []struct {
		state   catalog.State
		reasons []runner.Reason
	}{
		{catalog.Complete, []runner.Reason{runner.ReasonExit}},
		{catalog.Failed, []runner.Reason{
			runner.ReasonExit, runner.ReasonSignal, runner.ReasonTimeout, runner.ReasonOutOfMemory, runner.ReasonPidsLimit,
			runner.ReasonWorkFull, runner.ReasonHostFull, runner.ReasonOutputMissing, runner.ReasonNotFound,
			runner.ReasonNotInvocable,
		}},
		{catalog.Canceled, []runner.Reason{runner.ReasonStopped}},
		{catalog.Error, []runner.Reason{
			runner.ReasonRequest, runner.ReasonSandbox, runner.ReasonHarvest, runner.ReasonCommit, runner.ReasonExport, runner.ReasonPostProcess,
		}},
		{catalog.Lost, []runner.Reason{runner.ReasonSupervisorLost}},
	} {
		for _, reason := range append(of.reasons, other) {
			all = append(all, end{of.state, reason})
		}
	}
	return all
}

// endOf is the one of ends that a result is counted as.
func endOf(r runner.Result) end {
	for _, e := range []end{{r.State, r.Reason}, {r.State, other}} {
		if slices.Contains(ends(), e) {
			return e
		}
	}
	return end{catalog.Error, other}
}
