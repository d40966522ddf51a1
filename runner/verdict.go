package runner

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/inodes"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// ending is everything that decides how a run ended.
type ending struct {
	exit     sandbox.Exit
	evidence result.Evidence
	stopped  *StopSignal
	timeout  time.Duration
	memory   int64 // the limit, bytes
	pids     int64 // the limit
	usage    result.Usage
	outer    bool           // there is no control group of the run's own
	bound    outputs.Extent // of /work
	command  string
	missing  []string // declared outputs that matched nothing
}

// verdict is the part of a result that says how the run ended.
type verdict struct {
	state    catalog.State
	reason   result.Reason
	exitCode int
	signal   string // of the analysis' death, else empty
	message  string
}

// stoppedBy says who stopped it, and whether that was before the analysis had begun.
func (e ending) stoppedBy() string {
	if e.exit.Started.IsZero() {
		return "stopped by " + e.stopped.Name + " before anything was run"
	}
	return "stopped by " + e.stopped.Name
}

// judge names the first reason that fits, in the order of docs/ARCHITECTURE.md. It never guesses: out
// of memory is said only on the kernel's counter.
func judge(e ending) verdict {
	space, short := e.outOfSpace()
	switch {
	case e.stopped != nil:
		return verdict{catalog.Canceled, result.ReasonStopped, e.stopped.ExitCode, e.signal(), e.stoppedBy()}
	case e.exit.TimedOut:
		return verdict{catalog.Failed, result.ReasonTimeout, result.ExitTimeout, e.signal(), fmt.Sprintf("timed out after %v", e.timeout)}
	case !e.exit.Executed:
		return e.refused()
	case short:
		return space
	case e.evidence.OOMKills > 0 && !e.succeeded():
		return verdict{
			catalog.Failed, result.ReasonOutOfMemory, result.ExitOutOfMemory, e.signal(),
			e.outOfMemory(),
		}
	case e.signal() != "":
		return e.killed()
	case e.evidence.PidsDenied > 0 && !e.succeeded():
		return verdict{
			catalog.Failed, result.ReasonPidsLimit, e.exit.Status.ExitStatus(), "",
			e.outOfPids(),
		}
	case !e.succeeded():
		code := e.exit.Status.ExitStatus()
		return verdict{catalog.Failed, result.ReasonExit, code, "", fmt.Sprintf("the analysis exited with %d", code)}
	case len(e.missing) > 0:
		return verdict{
			catalog.Failed, result.ReasonOutputMissing, 1, "",
			"nothing in /work matches the declared output " + quoted(e.missing),
		}
	default:
		return completed
	}
}

// completed is the one good end.
var completed = verdict{catalog.Complete, result.ReasonExit, 0, "", "the analysis exited with 0"}

// outOfMemory names whose limit it was.
func (e ending) outOfMemory() string {
	limit := result.OOMLimit{By: result.OOMUnknown}
	if e.evidence.OOMLimit != nil {
		limit = *e.evidence.OOMLimit
	}
	own := fmt.Sprintf("the run's own limit of %d bytes", e.memory)
	at := "no limit that can be told: the host had no memory left, or a control group around the run"
	switch limit.By {
	case result.OOMOwn:
		return fmt.Sprintf("out of memory: the kernel killed at the limit of %d bytes (%s)", limit.Bytes, e.memoryFigures())
	case result.OOMEither:
		return fmt.Sprintf("out of memory: the kernel killed at %s or at that of a control group around it, which cgroup v1 does not tell (%s)",
			own, e.memoryFigures())
	case result.OOMOuter:
		at = fmt.Sprintf("the limit of %d bytes of a control group around the run", limit.Bytes)
	}
	if !e.outer {
		at += "; " + own + " was not reached"
	}
	return fmt.Sprintf("out of memory: the kernel killed at %s (%s)", at, e.memoryFigures())
}

// memoryFigures are the kernel's own. oom_kill is given as it counts: with memory.oom.group it ends all processes
// of a group, however few of them it has chosen. Before Linux 5.19 version 2 knew no peak.
func (e ending) memoryFigures() string {
	counted := fmt.Sprintf("oom_kill %d", e.evidence.OOMKills)
	if e.outer || e.usage.MemoryPeakBytes == 0 {
		return counted
	}
	return fmt.Sprintf("peak %d bytes, %s", e.usage.MemoryPeakBytes, counted)
}

// outOfPids names whose limit it was: a group that had fewer processes at its peak has not reached its own.
func (e ending) outOfPids() string {
	denied, code := count(e.evidence.PidsDenied, "fork", "forks"), e.exit.Status.ExitStatus()
	if peak := e.usage.PidsPeak; !e.outer && peak > 0 && peak < e.pids {
		return fmt.Sprintf("the limit of processes of a control group around the run was reached (%s denied; its own limit of %d was not, peak %d) and the analysis exited with %d",
			denied, e.pids, peak, code)
	}
	return fmt.Sprintf("the limit of %d processes was reached (%s denied) and the analysis exited with %d", e.pids, denied, code)
}

func (e ending) succeeded() bool {
	return e.exit.Ended && e.exit.Status.Exited() && e.exit.Status.ExitStatus() == 0
}

// signal names what killed the analysis: its own wait status, or SIGKILL where the whole container was
// killed before the init could report one.
func (e ending) signal() string {
	switch {
	case !e.exit.Executed:
		return ""
	case !e.exit.Ended:
		return "SIGKILL"
	case e.exit.Status.Signaled():
		return unix.SignalName(e.exit.Status.Signal())
	default:
		return ""
	}
}

func (e ending) killed() verdict {
	if !e.exit.Ended {
		return verdict{
			catalog.Failed, result.ReasonSignal, result.SignalBase + int(unix.SIGKILL), "SIGKILL",
			"the container was killed from outside, neither by a limit of ours nor by us",
		}
	}
	sig := e.exit.Status.Signal()
	if sig == unix.SIGXFSZ {
		return verdict{
			catalog.Failed, result.ReasonSignal, result.SignalBase + int(sig), e.signal(),
			"the analysis was killed by SIGXFSZ: it wrote more to one file than --work-size allows of all, and /work does not hold that",
		}
	}
	return verdict{
		catalog.Failed, result.ReasonSignal, result.SignalBase + int(sig), e.signal(),
		fmt.Sprintf("the analysis was killed by %s", e.signal()),
	}
}

// refused is a command that execve(2) did not take.
func (e ending) refused() verdict {
	errno := e.exit.Errno
	switch {
	case errno == 0:
		return verdict{catalog.Error, result.ReasonSandbox, result.ExitError, "", "the container ended before its command was started"}
	case errors.Is(errno, unix.ENOENT) || errors.Is(errno, unix.ENOTDIR):
		return verdict{
			catalog.Failed, result.ReasonNotFound, result.ExitNotFound, "",
			fmt.Sprintf("command %q is not in the container (or its interpreter is not)", e.command),
		}
	default:
		return verdict{
			catalog.Failed, result.ReasonNotInvocable, result.ExitNotInvocable, "",
			fmt.Sprintf("command %q cannot be executed: %v", e.command, error(errno)),
		}
	}
}

// quoted lists patterns as they are written in Go: one may hold spaces, commas and escape sequences.
func quoted(patterns []string) string {
	var list []string
	for _, p := range patterns {
		list = append(list, strconv.Quote(p))
	}
	return strings.Join(list, ", ")
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence is an error for a person and for one line: errors.Join puts each of its errors on one of its own.
func sentence(err error) string { return strings.ReplaceAll(inodes.Explain(err).Error(), "\n", "; ") }
