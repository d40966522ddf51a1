package judge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// ending is how an analysis ended, for the rules that decide what that means.
type ending phase.Ended

// Analysis decides how the analysis ended. The end of its run may be another: a declared output may be missing, and the harvest or
// the signature may fail.
func Analysis(ended phase.Ended) outcome.Outcome { return decide(ending(ended), nil) }

// verdict decides how a run ended, with warnings about what is not its reason. A failed analysis wins over a failed harvest; a
// failure of scidex-oci after a good end is an error. missing are the declared outputs that matched nothing; failure is nil if
// there was none.
func verdict(ended phase.Ended, missing []string, failure *phase.Failure) (outcome.Outcome, []string) {
	e := ending(ended)
	if failure == nil {
		o := decide(e, missing)
		return o, e.memoryWarnings(o)
	}
	fault := outcome.Fault(failure.Reason, result.Sentence(failure.Err))
	if failure.Reason != outcome.ReasonHarvest {
		return fault, nil
	}
	o := decide(e, missing)
	if o.ExitCode == 0 || o.Reason == outcome.ReasonOutputMissing {
		return fault, nil
	}
	incomplete := "the harvest is not complete: " + result.Sentence(failure.Err)
	return o, append([]string{incomplete}, e.memoryWarnings(o)...)
}

// failed is the outcome of an analysis that did not end well.
func failed(reason outcome.Reason, code int, signal outcome.Signal, message string) outcome.Outcome {
	return outcome.Outcome{State: outcome.Failed, Reason: reason, ExitCode: outcome.Code(code), Signal: signal, Message: message}
}

// stoppedBy says who stopped it, and whether that was before the analysis started.
func (e ending) stoppedBy() string {
	if e.Exit.Started.IsZero() {
		return "stopped by " + e.Stopped.Name + " before anything was run"
	}
	return "stopped by " + e.Stopped.Name
}

// decide returns the first reason that fits, in the order of docs/ARCHITECTURE.md. It never guesses: out of memory needs the
// kernel's counter. missing are the declared outputs that matched nothing.
func decide(e ending, missing []string) outcome.Outcome {
	if !e.endedByStop() {
		e.Stopped = nil
	}
	space, short := e.outOfSpace()
	switch {
	case e.Stopped != nil:
		return outcome.Outcome{
			State: outcome.Canceled, Reason: outcome.ReasonStopped, ExitCode: outcome.Code(e.Stopped.ExitCode), Signal: e.signal(), Message: e.stoppedBy(),
		}
	case e.Exit.TimedOut:
		return failed(outcome.ReasonTimeout, outcome.ExitTimeout, e.signal(), fmt.Sprintf("timed out after %v", time.Duration(e.Analysis.Timeout)))
	case !e.Exit.Executed && !e.overAhead(short):
		return e.refused()
	case short:
		return space
	case e.Report.Evidence.OOMKills > 0 && !e.Exit.Succeeded():
		return failed(outcome.ReasonOutOfMemory, outcome.ExitOutOfMemory, e.signal(), e.outOfMemory())
	case e.signal() != "":
		return e.killed()
	case e.Report.Evidence.PidsDenied > 0 && !e.Exit.Succeeded():
		return failed(outcome.ReasonPidsLimit, e.Exit.Status.ExitStatus(), "", e.outOfPids())
	case !e.Exit.Succeeded():
		code := e.Exit.Status.ExitStatus()
		return failed(outcome.ReasonExit, code, "", e.withCause(fmt.Sprintf("the analysis exited with %d", code)))
	case len(missing) > 0:
		return failed(outcome.ReasonOutputMissing, 1, "", "nothing in /work matches the declared output "+quoted(missing))
	default:
		return Completed
	}
}

// Completed is the one good end.
var Completed = outcome.Outcome{State: outcome.Complete, Reason: outcome.ReasonExit, Message: "the analysis exited with 0"}

// outOfMemory names whose limit it was.
func (e ending) outOfMemory() string {
	limit := result.OOMLimit{By: result.OOMUnknown}
	if e.Report.Evidence.OOMLimit != nil {
		limit = *e.Report.Evidence.OOMLimit
	}
	own := fmt.Sprintf("the run's own limit of %s", format.Size(int64(e.Analysis.Memory)))
	at := "no known limit: the host had no memory left, or a control group around the run"
	switch limit.By {
	case result.OOMOwn:
		return fmt.Sprintf("out of memory: the kernel killed at the limit of %s (%s)", format.Size(limit.Bytes), e.memoryFigures())
	case result.OOMEither:
		return fmt.Sprintf("out of memory: the kernel killed at %s or at that of a control group around it, which cgroup v1 does not distinguish (%s)",
			own, e.memoryFigures())
	case result.OOMOuter:
		at = fmt.Sprintf("the limit of %s of a control group around the run", format.Size(limit.Bytes))
	}
	if !e.Outer {
		at += "; " + own + " was not reached"
	}
	return fmt.Sprintf("out of memory: the kernel killed at %s (%s)", at, e.memoryFigures())
}

// memoryFigures are the kernel's. oom_kill is given as counted: with memory.oom.group it ends all processes of a group,
// however few of them it has chosen. Before Linux 5.19 version 2 had no peak.
func (e ending) memoryFigures() string {
	counted := fmt.Sprintf("oom_kill %d", e.Report.Evidence.OOMKills)
	if e.Outer || e.Report.Usage.MemoryPeakBytes == 0 {
		return counted
	}
	return fmt.Sprintf("peak %s, %s", format.Size(e.Report.Usage.MemoryPeakBytes), counted)
}

// outOfPids names whose limit it was: a group that had fewer processes at its peak has not reached its own.
func (e ending) outOfPids() string {
	denied, code := format.Count(e.Report.Evidence.PidsDenied, "fork", "forks"), e.Exit.Status.ExitStatus()
	if peak := e.Report.Usage.PidsPeak; !e.Outer && peak > 0 && peak < e.PidsLimit {
		return fmt.Sprintf("the limit of processes of a control group around the run was reached (%s denied; its own limit of %d was not, peak %d) and the analysis exited with %d",
			denied, e.PidsLimit, peak, code)
	}
	return fmt.Sprintf("the limit of %d processes was reached (%s denied) and the analysis exited with %d", e.PidsLimit, denied, code)
}

// withCause adds to a message what the analysis itself said last.
func (e ending) withCause(message string) string {
	if cause := Cause(e.StderrEnd); cause != "" {
		return message + ": " + cause
	}
	return message
}

// signal names what killed the analysis: its own wait status, or SIGKILL if the whole container was
// killed before the init could report one.
func (e ending) signal() outcome.Signal {
	switch {
	case !e.Exit.Executed:
		return ""
	case !e.Exit.Ended:
		return "SIGKILL"
	case e.Exit.Status.Signaled():
		return outcome.Signal(unix.SignalName(e.Exit.Status.Signal()))
	default:
		return ""
	}
}

func (e ending) killed() outcome.Outcome {
	if !e.Exit.Ended {
		return failed(outcome.ReasonSignal, outcome.SignalBase+int(unix.SIGKILL), "SIGKILL", "the container was killed from outside, neither by a limit of the run nor by scidex-oci")
	}
	sig := e.Exit.Status.Signal()
	if sig == unix.SIGXFSZ {
		return failed(outcome.ReasonSignal, outcome.SignalBase+int(sig), e.signal(), "the analysis was killed by SIGXFSZ: one file became larger than --work-size, which also bounds files in /tmp")
	}
	return failed(outcome.ReasonSignal, outcome.SignalBase+int(sig), e.signal(), e.withCause(fmt.Sprintf("the analysis was killed by %s", e.signal())))
}

// overAhead reports whether the imports of an analysis passed a limit before it began.
func (e ending) overAhead(space bool) bool {
	return e.Exit.Ahead && (space || e.Report.Evidence.OOMKills > 0)
}

// refused is a command that execve(2) refused.
func (e ending) refused() outcome.Outcome {
	errno := e.Exit.Errno
	switch {
	case e.Exit.Unhooked:
		return outcome.Fault(outcome.ReasonSandbox, "the interpreter does not import sitecustomize from PYTHONPATH, by which scidex-oci has it wait, and may have executed the script before its turn; run it again with --preload none")
	case errno == 0:
		return outcome.Fault(outcome.ReasonSandbox, "the container ended before its command was started")
	case errors.Is(errno, unix.ENOENT) || errors.Is(errno, unix.ENOTDIR):
		return failed(outcome.ReasonNotFound, outcome.ExitNotFound, "", fmt.Sprintf("command %q is not in the container (or its interpreter is not)", e.Command[0]))
	default:
		return failed(outcome.ReasonNotInvocable, outcome.ExitNotInvocable, "", fmt.Sprintf("command %q cannot be executed: %v", e.Command[0], error(errno)))
	}
}

// quoted lists patterns in Go syntax: one may hold spaces, commas and escape sequences.
func quoted(patterns []string) string {
	var list []string
	for _, p := range patterns {
		list = append(list, strconv.Quote(p))
	}
	return strings.Join(list, ", ")
}
