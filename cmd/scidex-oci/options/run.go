package options

import (
	"slices"

	"github.com/scidex-ai/scidex-oci/spec"
)

// Run are the options that make a request. Commands that make one share them.
type Run struct {
	Analysis
	Hook
	File, Events, Trace    Text
	Again                  string // the name of a run
	Shell                  string // the name of a run; only of the command run
	NoAudit                bool
	Overwrite, JSON, Quiet bool
	Detach, Reuse          bool // only of the command run
}

// Flags are the flags of a request, including that of --min-free.
func (o *Run) Flags(g *Global) []*Flag {
	return slices.Concat(
		o.Analysis.Flags(),
		inGroup(spec.GroupProgram,
			Given(&o.File, "file", "read the request from the manifest `FILE` (YAML or JSON, - for standard input); flags override it", "f"),
			String(&o.Again, "again", "run the recorded request of `ID` (the whole id, no prefix) once more, as the next attempt, with the recorded script; flags override the request, and --script FILE takes the file as it is now"),
		),
		inGroup(spec.GroupLimits, g.MinFreeFlag(), g.InjectFlag()),
		inGroup(spec.GroupOutputs, append(o.Hook.Flags(),
			Given(&o.On, "post-process-on", "`complete|always`: call the --post-process command after runs that are complete (default), or after all runs"),
			Bool(&o.Overwrite, "overwrite", "let --export write into a directory that is not empty"),
		)...),
		g.SignFlags(),
		inGroup(spec.GroupRunning,
			o.AuditFlag(),
			Bool(&o.JSON, "json", "print the result as one JSON object on standard output; the analysis' own output goes to standard error"),
			Given(&o.Events, "events", "`FILE|fd:N`: write what happens as JSON lines to the end of a file, to a FIFO that is read, or to the descriptor N that this command was started with; see docs/schema/events.json"),
			Given(&o.Trace, "trace", "write how long each phase of the run takes to `FILE` as Chrome trace events, for chrome://tracing or Perfetto; see docs/trace.md"),
			Bool(&o.Quiet, "quiet", "leave out the status line and the closing table; if a limit or a signal ended the run, print one line about that", "q"),
		),
	)
}

// AuditFlag is the flag of NoAudit.
func (o *Run) AuditFlag() *Flag {
	return Value(&o.NoAudit, "audit", "`on|off`: note in the result what the analysis tries to reach although it may not (default: on). Needs seccomp user notification; give off if the kernel lacks that", readOff)
}

// DetachFlag is the flag of Detach.
func (o *Run) DetachFlag() *Flag {
	return inGroup(spec.GroupRunning, Bool(&o.Detach, "detach", "print the id as soon as the analysis has started, and let the run go on without this command and its terminal; see show --wait, logs --follow and stop", "d"))[0]
}

// ReuseFlag is the flag of Reuse.
func (o *Run) ReuseFlag() *Flag {
	return inGroup(spec.GroupRunning, Bool(&o.Reuse, "reuse", "if an earlier run of the same action is complete and its outputs still exist, print its result and run nothing; implies --digest-inputs full; see docs/replay.md"))[0]
}

// ShellFlag is the flag of Shell.
func (o *Run) ShellFlag() *Flag {
	return inGroup(spec.GroupRunning, String(&o.Shell, "shell", "open a shell in a sandbox like that of run `ID`, with a copy of the working directory that the run kept, or of its outputs; nothing from this shell is kept"))[0]
}

func readOff(t Text) (bool, error) {
	switch t.Value {
	case "on":
		return false, nil
	case "off":
		return true, nil
	}
	return false, t.Refuse("give on or off")
}

// Hook says what is called with a result.
type Hook struct{ Command, Timeout, On Text }

// Flags are the flags of a hook but --post-process-on.
func (o *Hook) Flags() []*Flag {
	return []*Flag{
		Given(&o.Command, "post-process", "after the commit call `COMMAND` on the host with your own rights. Its standard input is the result, and SCIDEX_OUTPUT_DIR is a directory with copies of the outputs. It is split into words as a shell would, but no shell runs it. It may be called more than once for an id and attempt"),
		Given(&o.Timeout, "post-process-timeout", "end the --post-process command after `DURATION` (default: 10m)"),
	}
}
