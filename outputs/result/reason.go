// Package result is the one model of how a run ended: states, reasons, exit codes and the fields of the JSON that `run
// --json` and `show --json` print (docs/schema/result.json). Everything that reads or shows a run uses it.
package result

import "github.com/scidex-ai/scidex-oci/outputs/catalog"

// Reason says why a run ended.
type Reason string

// The reasons of a result.
const (
	ReasonExit           Reason = "exit"
	ReasonSignal         Reason = "signal"
	ReasonTimeout        Reason = "timeout"
	ReasonOutOfMemory    Reason = "out_of_memory"
	ReasonPidsLimit      Reason = "pids_limit"
	ReasonWorkFull       Reason = "work_full"
	ReasonHostFull       Reason = "host_full"
	ReasonOutputMissing  Reason = "output_missing"
	ReasonNotFound       Reason = "not_found"
	ReasonNotInvocable   Reason = "not_invocable"
	ReasonStopped        Reason = "stopped"
	ReasonSupervisorLost Reason = "supervisor_lost"
	ReasonHarvest        Reason = "harvest"
	ReasonCommit         Reason = "commit"
	ReasonExport         Reason = "export"
	ReasonPostProcess    Reason = catalog.ReasonHookOwed
	ReasonSandbox        Reason = "sandbox"
	ReasonRequest        Reason = "request"
)

// ReasonsOf lists the reasons for which runs end in a state; none for a state that is not an end.
func ReasonsOf(state catalog.State) []Reason {
	switch state {
	case catalog.Complete:
		return []Reason{ReasonExit}
	case catalog.Failed:
		return []Reason{
			ReasonExit, ReasonSignal, ReasonTimeout, ReasonOutOfMemory, ReasonPidsLimit, ReasonWorkFull, ReasonHostFull,
			ReasonOutputMissing, ReasonNotFound, ReasonNotInvocable,
		}
	case catalog.Canceled:
		return []Reason{ReasonStopped}
	case catalog.Lost:
		return []Reason{ReasonSupervisorLost}
	case catalog.Error:
		return []Reason{ReasonHarvest, ReasonCommit, ReasonExport, ReasonPostProcess, ReasonSandbox, ReasonRequest}
	case catalog.Queued, catalog.Running:
	}
	return nil
}

// Reasons lists all reasons, each once.
func Reasons() (all []Reason) {
	for _, state := range []catalog.State{catalog.Failed, catalog.Canceled, catalog.Lost, catalog.Error} {
		all = append(all, ReasonsOf(state)...)
	}
	return all
}

// The command line's own exit codes. Those of signals are SignalBase plus the number.
const (
	ExitTimeout      = 124
	ExitError        = 125 // an error of scidex-oci, its host or the request
	ExitNotInvocable = 126
	ExitNotFound     = 127
	ExitOutOfMemory  = 137
	SignalBase       = 128
)
