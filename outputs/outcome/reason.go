package outcome

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
	// ReasonPostProcess is of a run whose result is committed and complete, and whose hook has not succeeded. It is the only error
	// that a run can leave.
	ReasonPostProcess Reason = "post_process"
	ReasonSandbox     Reason = "sandbox"
	ReasonRequest     Reason = "request"
)

// ReasonsOf lists the reasons for which runs end in a state; none for a state that is not an end.
func ReasonsOf(state State) []Reason {
	switch state {
	case Complete:
		return []Reason{ReasonExit}
	case Failed:
		return []Reason{
			ReasonExit, ReasonSignal, ReasonTimeout, ReasonOutOfMemory, ReasonPidsLimit, ReasonWorkFull, ReasonHostFull,
			ReasonOutputMissing, ReasonNotFound, ReasonNotInvocable,
		}
	case Canceled:
		return []Reason{ReasonStopped}
	case Lost:
		return []Reason{ReasonSupervisorLost}
	case Error:
		return []Reason{ReasonHarvest, ReasonCommit, ReasonExport, ReasonPostProcess, ReasonSandbox, ReasonRequest}
	case Queued, Running:
	}
	return nil
}

// Reasons lists all reasons, each once.
func Reasons() (all []Reason) {
	for _, state := range []State{Failed, Canceled, Lost, Error} {
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
