// Package results prints results of runs: as tables, as lines, as JSON.
package results

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/spec"
)

// MaxEntries bounds the outputs, and the rejected entries, that a table lists.
const MaxEntries = 20

// Table prints a result as a table.
type Table struct {
	screen.Table
	Program string // how to run this program again, with its global flags
	// Accustomed says that best effort, if it holds, was allowed for all runs and not by this command: a word says so.
	Accustomed bool
}

// Summary is the table at the end of a run.
func (t Table) Summary(r result.Result) {
	t.Row("run", runName(r))
	t.ending(r)
	t.usage(r)
	r.Warnings = t.limits(r)
	t.outputs(r)
	t.rejected(r)
	t.requests(r.Requests)
	t.audit(r)
	t.postProcess(r)
	t.advice(r)
	t.Row("kept", screen.Escape(r.Kept))
	t.Row("exported", screen.Escape(r.Exported()))
	t.next(r)
}

// limits says in a word what a warning says in a sentence: those who allowed it for all runs know that. It returns the other warnings.
func (t Table) limits(r result.Result) []string {
	unheld := limits.Unheld(r.Enforced)
	rest := slices.DeleteFunc(slices.Clone(r.Warnings), func(w string) bool { return slices.Contains(unheld, w) })
	if !t.Accustomed || len(rest) == len(r.Warnings) {
		return r.Warnings
	}
	t.Row("limits", t.Palette.Yellow(spec.LimitsBestEffort))
	return rest
}

// advice prints the warnings and the hints.
func (t Table) advice(r result.Result) {
	for _, warning := range r.Warnings {
		t.Row("warning", t.Palette.Yellow(screen.Escape(warning)))
	}
	for _, hint := range r.Hints {
		t.Row("hint", t.Palette.Bold(screen.Escape(hint.Message)))
	}
}

func (t Table) ending(r result.Result) {
	state := Ending(r)
	if r.State == outcome.Running && r.Message != "" {
		state += " (dead)"
	}
	t.Row("state", stateColour(t.Palette, r.State, state))
	if r.State != outcome.Complete {
		t.Row("message", screen.Escape(r.Message))
	}
}

func (t Table) usage(r result.Result) {
	if r.StartedAt != nil && r.State == outcome.Running && r.Message == "" {
		t.Row("time", format.Duration(max(0, time.Since(*r.StartedAt)).Milliseconds())+" so far")
	}
	if !r.Measured() {
		return
	}
	t.Row("time", spent(r.Usage))
	memory := "not measured" // it is never really zero
	if peak := r.Usage.MemoryPeakBytes; peak > 0 {
		memory = format.Size(peak) + sizeOf(r.EnforcementOf("memory").Effective) + r.Usage.SampledMark("memory_peak_bytes")
	}
	t.Row("memory", memory)
}

func (t Table) outputs(r result.Result) {
	if r.OutputsTotal == 0 {
		if r.State.Final() {
			t.Row("outputs", "none")
		}
		return
	}
	var cells [][]string
	for _, o := range r.Outputs[:min(len(r.Outputs), MaxEntries)] {
		cells = append(cells, OutputCells(o))
	}
	t.Row("outputs", strconv.FormatInt(r.OutputsTotal, 10))
	t.Rows(cells)
	t.more(r, r.OutputsTotal-int64(len(cells)))
}

func (t Table) rejected(r result.Result) {
	if r.RejectedTotal == 0 {
		return
	}
	var cells [][]string
	for _, e := range r.Rejected[:min(len(r.Rejected), MaxEntries)] {
		cells = append(cells, RejectedCells(e))
	}
	t.Row("rejected", strconv.FormatInt(r.RejectedTotal, 10))
	t.Rows(cells)
	t.more(r, r.RejectedTotal-int64(len(cells)))
}

func (t Table) more(r result.Result, n int64) {
	if n > 0 {
		t.Continued(fmt.Sprintf("and %d more: %s outputs ls %s", n, t.Program, name(r)))
	}
}

// next says where to look further. A run that is not in the catalog has no id to look for.
func (t Table) next(r result.Result) {
	if r.ID == "" {
		return
	}
	id := name(r)
	t.Row("next", t.Program+" show "+id)
	lines := []string{}
	if r.Logs.Stdout.Bytes+r.Logs.Stderr.Bytes > 0 {
		lines = append(lines, t.Program+" logs "+id)
	}
	if r.State == outcome.Failed {
		lines = append(lines, t.Program+" run --shell "+id)
	}
	if r.OutputsTotal > 0 && r.Exported() == "" {
		lines = append(lines, t.Program+" outputs export "+id+" DIR")
	}
	for _, line := range lines {
		t.Continued(line)
	}
}

func runName(r result.Result) string {
	name := screen.Escape(r.ID)
	if r.Attempt > 1 {
		name += fmt.Sprintf(" (attempt %d)", r.Attempt)
	}
	return name
}

// Ending is state and reason: "failed: exit 3", "failed: timeout (124)".
func Ending(r result.Result) string {
	switch {
	case r.Reason == "":
		return string(r.State)
	case r.Reason == outcome.ReasonExit:
		return fmt.Sprintf("%s: exit %d", r.State, r.ExitCode)
	case r.Reason == outcome.ReasonSignal && r.Signal != "":
		return fmt.Sprintf("%s: %s %s (%d)", r.State, r.Reason, screen.Escape(string(r.Signal)), r.ExitCode)
	}
	return fmt.Sprintf("%s: %s (%d)", r.State, screen.Escape(string(r.Reason)), r.ExitCode)
}

// spent is the time of a run, and how long it was suspended.
func spent(u result.Usage) string {
	text := fmt.Sprintf("wall %s, cpu %s", format.Duration(u.WallMS), format.Duration(u.CPUMS)) + u.SampledMark("cpu_ms")
	if u.SuspendedMS > 0 {
		text += fmt.Sprintf(", suspended %s", format.Duration(u.SuspendedMS))
	}
	return text
}

// sizeOf is " of SIZE" for a limit in bytes.
func sizeOf(effective string) string {
	if _, err := strconv.ParseInt(effective, 10, 64); err != nil {
		return ""
	}
	return " of " + readable("memory", effective)
}

// readable is a limit's value for a person: those in bytes get a unit.
func readable(limit, value string) string {
	bytes, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !result.InBytes(limit) {
		return screen.Escape(value)
	}
	return format.Size(bytes)
}

// OutputCells are the columns of an output, escaped.
func OutputCells(o result.Output) []string {
	cells := []string{screen.Escape(o.Path), format.Size(o.Size), screen.Escape(o.MediaType), format.ShortDigest(o.SHA256)}
	if o.Partial {
		cells = append(cells, "partial")
	}
	return cells
}

// RejectedCells are the columns of a rejected entry, escaped.
func RejectedCells(e result.Rejected) []string {
	return []string{screen.Escape(e.Path), screen.Escape(e.Reason), screen.Escape(e.Detail)}
}

// name is what to type for the run.
func name(r result.Result) string { return screen.Escape(r.ID) }

// stateColour colours text by the state of a run.
func stateColour(p screen.Palette, state outcome.State, text string) string {
	switch state {
	case outcome.Complete:
		return p.Green(text)
	case outcome.Failed, outcome.Error, outcome.Lost:
		return p.Red(text)
	case outcome.Canceled, outcome.Queued, outcome.Running:
		return p.Yellow(text)
	}
	return text
}
