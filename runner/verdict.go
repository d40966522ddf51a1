package runner

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// The exit codes of the command line that are not the analysis' own.
const (
	exitTimeout      = 124
	exitError        = 125
	exitNotInvocable = 126
	exitNotFound     = 127
	exitOutOfMemory  = 137
	signalBase       = 128
)

// ending is everything that decides how a run ended.
type ending struct {
	exit     sandbox.Exit
	evidence Evidence
	stopped  *StopSignal
	timeout  time.Duration
	memory   int64 // the limit, bytes
	pids     int64 // the limit
	command  string
	missing  []string // declared outputs that matched nothing
}

// verdict is the part of a result that says how the run ended.
type verdict struct {
	state    catalog.State
	reason   Reason
	exitCode int
	signal   string // of the analysis' death, else empty
	message  string
}

// judge names the first reason that fits, in the order of docs/ARCHITECTURE.md. It never guesses: out
// of memory is said only on the kernel's counter.
func judge(e ending) verdict {
	switch {
	case e.stopped != nil:
		return verdict{catalog.Canceled, ReasonStopped, e.stopped.ExitCode, e.signal(), "stopped by " + e.stopped.Name}
	case e.exit.TimedOut:
		return verdict{catalog.Failed, ReasonTimeout, exitTimeout, e.signal(), fmt.Sprintf("timed out after %v", e.timeout)}
	case !e.exit.Executed:
		return e.refused()
	case e.evidence.OOMKills > 0 && !e.succeeded():
		return verdict{
			catalog.Failed, ReasonOutOfMemory, exitOutOfMemory, e.signal(),
			fmt.Sprintf("out of memory: the kernel killed %s at the limit of %d bytes", count(e.evidence.OOMKills, "process", "processes"), e.memory),
		}
	case e.signal() != "":
		return e.killed()
	case e.evidence.PidsDenied > 0 && !e.succeeded():
		return verdict{
			catalog.Failed, ReasonPidsLimit, e.exit.Status.ExitStatus(), "",
			fmt.Sprintf("the limit of %d processes was reached (%s denied) and the analysis exited with %d",
				e.pids, count(e.evidence.PidsDenied, "fork", "forks"), e.exit.Status.ExitStatus()),
		}
	case !e.succeeded():
		code := e.exit.Status.ExitStatus()
		return verdict{catalog.Failed, ReasonExit, code, "", fmt.Sprintf("the analysis exited with %d", code)}
	case len(e.missing) > 0:
		return verdict{
			catalog.Failed, ReasonOutputMissing, 1, "",
			"nothing in /work matches the declared output " + quoted(e.missing),
		}
	default:
		return verdict{catalog.Complete, ReasonExit, 0, "", "the analysis exited with 0"}
	}
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
			catalog.Failed, ReasonSignal, signalBase + int(unix.SIGKILL), "SIGKILL",
			"the container was killed from outside, neither by a limit of ours nor by us",
		}
	}
	sig := e.exit.Status.Signal()
	return verdict{
		catalog.Failed, ReasonSignal, signalBase + int(sig), e.signal(),
		fmt.Sprintf("the analysis was killed by %s", e.signal()),
	}
}

// refused is a command that execve(2) did not take.
func (e ending) refused() verdict {
	errno := e.exit.Errno
	switch {
	case errno == 0:
		return verdict{catalog.Error, ReasonSandbox, exitError, "", "the container ended before its command was started"}
	case errors.Is(errno, unix.ENOENT) || errors.Is(errno, unix.ENOTDIR):
		return verdict{
			catalog.Failed, ReasonNotFound, exitNotFound, "",
			fmt.Sprintf("command %q is not in the container (or its interpreter is not)", e.command),
		}
	default:
		return verdict{
			catalog.Failed, ReasonNotInvocable, exitNotInvocable, "",
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
