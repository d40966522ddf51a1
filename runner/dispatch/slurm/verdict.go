package slurm

import (
	"encoding/json"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
)

// Ending is all that is known of a task that has ended and left no result.
type Ending struct {
	Status   Status
	Began    *spooled.Began // nil: it never started its line
	Canceled bool           // "slurm cancel" was called
	Log      string         // the file with the task's output
	Logged   bool           // it exists: Slurm has started the task's script
}

// Verdict returns the run of a line whose task left none. Slurm's state is believed: a task whose job was canceled is
// `canceled`; one that had started is `lost`, since its launcher was killed and its analysis' end was not seen; one that
// never started is an `error` of the host. A task that Slurm never started and has forgotten was canceled while it waited:
// without accounting no other trace of it is left. Out of memory is no reason here: that is for an analysis whose end was
// seen. started_at stays empty, since it is unknown whether the analysis had started.
func (e Ending) Verdict(line spooled.Line) catalog.Run {
	o := outcome.Fault(outcome.ReasonSandbox, e.message())
	switch {
	case e.Status.State == "CANCELLED", e.Canceled && !e.broke(), e.vanished():
		o.State, o.Reason, o.ExitCode = outcome.Canceled, outcome.ReasonStopped, outcome.Code(outcome.SignalBase+int(unix.SIGTERM))
	case e.Began != nil, e.broke():
		o = outcome.Fault(outcome.ReasonSupervisorLost, o.Message)
	}
	run := line.Run(o, json.RawMessage(`{"enforced":[]}`))
	if e.Began != nil {
		run.Host, run.BootID = e.Began.Host, e.Began.BootID
	}
	return run
}

// vanished reports whether Slurm has forgotten a task that it never started.
func (e Ending) vanished() bool { return e.Status.State == "" && e.Began == nil && !e.Logged }

// broke reports whether the node or a limit of Slurm's ended the task, whatever else was requested.
func (e Ending) broke() bool {
	switch e.Status.State {
	case "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "PREEMPTED":
		return true
	}
	return false
}

var meanings = map[string]string{
	"BOOT_FAIL":     "its node did not boot",
	"CANCELLED":     "its job was canceled in Slurm",
	"COMPLETED":     "Slurm says that it completed",
	"DEADLINE":      "its deadline passed in Slurm",
	"FAILED":        "its script failed",
	"NODE_FAIL":     "its node failed",
	"OUT_OF_MEMORY": "the job's memory ran out, and the kernel killed scidex-oci with the analysis",
	"PREEMPTED":     "another job took its place",
	"TIMEOUT":       "Slurm's time limit ended it before its result was there",
}

func (e Ending) message() string {
	text := "the task left no result: "
	switch {
	case e.Status.State != "":
		meaning, known := meanings[e.Status.State]
		if !known {
			meaning = "it ended"
		}
		text += fmt.Sprintf("%s (%s", meaning, e.Status.State)
		if e.Status.Node != "" {
			text += " on " + e.Status.Node
		}
		text += ")"
	case e.Canceled:
		text += "the submission was canceled"
	case e.vanished():
		return text + "it never started, and Slurm does not know it any more, as after scancel of a task that waits"
	default:
		text += "Slurm does not know it any more, nor why it ended"
	}
	if e.Began == nil {
		return text + "; the analysis never started; see " + e.Log
	}
	return text + fmt.Sprintf("; it had started on %s; see %s", e.Began.Host, e.Log)
}
