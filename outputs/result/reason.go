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

// The command line's own exit codes. Those of signals are SignalBase plus the number.
const (
	ExitTimeout      = 124
	ExitError        = 125 // an error of scidex-oci, its host or the request
	ExitNotInvocable = 126
	ExitNotFound     = 127
	ExitOutOfMemory  = 137
	SignalBase       = 128
)
