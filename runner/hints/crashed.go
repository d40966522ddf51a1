package hints

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

var kernelDied = pattern(`(?m): cell \d+ of \d+: (Kernel died)`)

// crashes are the signals by which the processor or the C library ends a program that went wrong.
var crashes = []unix.Signal{unix.SIGSEGV, unix.SIGBUS, unix.SIGILL, unix.SIGFPE, unix.SIGABRT}

// crashed is for an end by a signal that no limit of the run explains.
func crashed(f Facts) string {
	switch signal := f.endedBy(); {
	case !f.exited() || memoryLimit(f) != "" || pidsLimit(f) != "":
		return ""
	case f.find(kernelDied) != "":
		return "the notebook's Python died in that cell: a library crashed, or " + f.killer()
	case signal == unix.SIGILL:
		return "the program or a library has instructions that this processor does not have (SIGILL): install it for this processor"
	case slices.Contains(crashes, signal):
		return fmt.Sprintf("the program or a library crashed (%s): Python says where with --env PYTHONFAULTHANDLER=1; another version of the library may help", unix.SignalName(signal))
	case signal == unix.SIGKILL && f.Ended.Exit.Ended:
		return "no limit of the run explains SIGKILL: " + f.killer()
	}
	return ""
}

// killer is who may have killed a process.
func (f Facts) killer() string {
	if f.bestEffort() || f.Ended.Outer {
		return "the host may have been out of memory, which cannot be counted for this run: its kernel log says so"
	}
	return "perhaps a process of the analysis killed it"
}

// endedBy is the signal that ended the analysis, or its last program if a shell reports that; 0 without one.
func (f Facts) endedBy() unix.Signal {
	if f.Outcome.Signal != "" {
		return unix.SignalNum(string(f.Outcome.Signal))
	}
	if code := f.Outcome.ExitCode - outcome.SignalBase; f.Outcome.Reason == outcome.ReasonExit && code > 0 && strings.HasPrefix(unix.SignalName(unix.Signal(code)), "SIG") {
		return unix.Signal(code)
	}
	return 0
}
