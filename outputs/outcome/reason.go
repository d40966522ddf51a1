package outcome

// Reason says why a run ended.
type Reason string

// The reasons of a result. The comment of each is its row in docs/reference/ends.md, with the exit code in brackets.
const (
	// The analysis exited by itself. [its own]
	ReasonExit Reason = "exit"
	// A signal killed the analysis that neither a limit nor scidex-oci has sent. [128 and the signal's number]
	ReasonSignal Reason = "signal"
	// It ran longer than --timeout. [124]
	ReasonTimeout Reason = "timeout"
	// The kernel counted a kill for lack of memory, and the analysis did not exit with 0. [137]
	ReasonOutOfMemory Reason = "out_of_memory"
	// The kernel denied a further process or thread, and the analysis did not exit with 0. [its own]
	ReasonPidsLimit Reason = "pids_limit"
	// /work passed --work-size or --work-files. [its own, or 1 if that is 0]
	ReasonWorkFull Reason = "work_full"
	// The file system of the working directories or of the blob store had less free than --min-free. [its own, or 1 if that is 0]
	ReasonHostFull Reason = "host_full"
	// The analysis exited with 0, and no file matches a declared output. The other outputs are kept. [1]
	ReasonOutputMissing Reason = "output_missing"
	// The command, or the interpreter that its first line names, is not in the container. [127]
	ReasonNotFound Reason = "not_found"
	// The command is there and cannot be executed. [126]
	ReasonNotInvocable Reason = "not_invocable"
	// A signal to scidex-oci or scidex-oci stop ended the run. [128 and the signal's number; 143 after stop]
	ReasonStopped Reason = "stopped"
	// The launcher or the supervisor of the run was killed, or its host went down. [125]
	ReasonSupervisorLost Reason = "supervisor_lost"
	// The working directory could not be read whole. It is kept. [125]
	ReasonHarvest Reason = "harvest"
	// The result could not be signed or committed. [125]
	ReasonCommit Reason = "commit"
	// The run is committed, and the directory of --export could not be written. [125]
	ReasonExport Reason = "export"
	// The run is committed and complete, and the command of --post-process has not succeeded. It is the only error that a run can
	// leave. [125]
	ReasonPostProcess Reason = "post_process"
	// scidex-oci or the host could not make the container. [125]
	ReasonSandbox Reason = "sandbox"
	// The request was refused before anything was run, or the analysis was killed because it read more than 64 MiB of standard input. [125]
	ReasonRequest Reason = "request"
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
