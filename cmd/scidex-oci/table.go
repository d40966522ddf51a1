package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// shownEntries is how many outputs, and how many rejected entries, a table for a person lists.
const shownEntries = 20

// table prints what a person sees of a result: a word on the left, what it says on the right.
type table struct {
	w       io.Writer
	palette palette
	program string // how to call this program again, with its global flags
}

// summary is the table at the end of a run.
func (t table) summary(r result.Result, hint string) {
	t.row("run", runName(r))
	t.ending(r)
	t.usage(r)
	t.outputs(r)
	t.rejected(r)
	t.audit(r)
	t.postProcess(r)
	t.row("unenforced", strings.Join(unenforced(r.Enforced), ", "))
	for _, warning := range r.Warnings {
		t.row("warning", t.palette.yellow(escape(warning)))
	}
	t.row("kept", escape(r.Kept))
	t.row("hint", t.palette.bold(escape(hint)))
	t.next(r)
}

// row prints one line; none where there is nothing to say.
func (t table) row(word, text string) {
	if text != "" {
		fmt.Fprintf(t.w, "%-10s  %s\n", word, text)
	}
}

// rows prints columns below a row. Cells must be escaped.
func (t table) rows(cells [][]string) {
	tw := tabwriter.NewWriter(t.w, 0, 8, 2, ' ', 0)
	for _, row := range cells {
		fmt.Fprintln(tw, "            "+strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush() // a terminal that is gone is no trouble of ours
}

func runName(r result.Result) string {
	name := escape(r.ID)
	if r.Attempt > 1 {
		name += fmt.Sprintf(" (attempt %d)", r.Attempt)
	}
	return name
}

func (t table) ending(r result.Result) {
	t.row("state", t.palette.state(r.State, ending(r)))
	if r.State != catalog.Complete {
		t.row("message", escape(r.Message))
	}
}

// ending tells state and reason: "failed: exit 3", "failed: timeout (124)".
func ending(r result.Result) string {
	switch {
	case r.Reason == "":
		return string(r.State)
	case r.Reason == result.ReasonExit:
		return fmt.Sprintf("%s: exit %d", r.State, r.ExitCode)
	case r.Reason == result.ReasonSignal && r.Signal != nil:
		return fmt.Sprintf("%s: %s %s (%d)", r.State, r.Reason, escape(*r.Signal), r.ExitCode)
	}
	return fmt.Sprintf("%s: %s (%d)", r.State, escape(string(r.Reason)), r.ExitCode)
}

func (t table) usage(r result.Result) {
	if r.StartedAt == nil {
		return
	}
	t.row("time", spent(r.Usage))
	memory := measured(size(r.Usage.MemoryPeakBytes), r.Usage.MemoryPeakBytes) + sizeOf(limit(r, "memory"))
	if slices.Contains(r.Usage.Sampled, "memory_peak_bytes") {
		memory += " (sampled)"
	}
	t.row("memory", memory)
}

// spent is the time of a run, and for how long that stood still.
func spent(u result.Usage) string {
	text := fmt.Sprintf("wall %s, cpu %s", span(u.WallMS), span(u.CPUMS))
	if u.SuspendedMS > 0 {
		text += fmt.Sprintf(", suspended %s", span(u.SuspendedMS))
	}
	return text
}

// measured says so where nothing measured a peak: it is never really zero.
func measured(text string, value int64) string {
	if value <= 0 {
		return "not measured"
	}
	return text
}

func limit(r result.Result, name string) string {
	for _, one := range r.Enforced {
		if one.Limit == name {
			return one.Effective
		}
	}
	return ""
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
	if err != nil || !slices.Contains([]string{"memory", "log_size", "tmp", "home", "shm"}, limit) {
		return escape(value)
	}
	return size(bytes)
}

func (t table) outputs(r result.Result) {
	if r.OutputsTotal == 0 {
		if r.State.Final() {
			t.row("outputs", "none")
		}
		return
	}
	var cells [][]string
	for _, o := range r.Outputs[:min(len(r.Outputs), shownEntries)] {
		cells = append(cells, outputCells(o))
	}
	t.row("outputs", strconv.FormatInt(r.OutputsTotal, 10))
	t.rows(cells)
	t.more(r, r.OutputsTotal-int64(len(cells)))
}

func outputCells(o result.Output) []string {
	cells := []string{escape(o.Path), size(o.Size), escape(o.MediaType), short(o.SHA256)}
	if o.Partial {
		cells = append(cells, "partial")
	}
	return cells
}

// short is the beginning of a digest that a person compares by.
func short(sha256 string) string { return sha256[:min(len(sha256), 12)] }

func (t table) rejected(r result.Result) {
	if r.RejectedTotal == 0 {
		return
	}
	var cells [][]string
	for _, e := range r.Rejected[:min(len(r.Rejected), shownEntries)] {
		cells = append(cells, rejectedCells(e))
	}
	t.row("rejected", strconv.FormatInt(r.RejectedTotal, 10))
	t.rows(cells)
	t.more(r, r.RejectedTotal-int64(len(cells)))
}

func rejectedCells(e result.Rejected) []string {
	return []string{escape(e.Path), escape(e.Reason), escape(e.Detail)}
}

func (t table) more(r result.Result, n int64) {
	if n > 0 {
		fmt.Fprintf(t.w, "            and %d more: %s outputs ls %s\n", n, t.program, name(r))
	}
}

// unenforced are the limits that are held by less than they could be. The clock, the logs and the bounds of a /work
// on disk are always ours.
func unenforced(enforced []result.Enforcement) []string {
	var all []string
	for _, e := range enforced {
		ours := slices.Contains([]string{"timeout", "grace", "log_size", "work_size", "work_files"}, e.Limit)
		if e.By == "none" || e.By == "watchdog" && !ours {
			all = append(all, fmt.Sprintf("%s (%s)", escape(e.Limit), escape(e.By)))
		}
	}
	return all
}

// next says where to look further. A run that is not in the catalog has no id to look for.
func (t table) next(r result.Result) {
	if r.ID == "" {
		return
	}
	id := name(r)
	t.row("next", t.program+" show "+id)
	lines := []string{}
	if r.Logs.Stdout.Bytes+r.Logs.Stderr.Bytes > 0 {
		lines = append(lines, t.program+" logs "+id)
	}
	if r.OutputsTotal > 0 {
		lines = append(lines, t.program+" outputs export "+id+" DIR")
	}
	for _, line := range lines {
		fmt.Fprintf(t.w, "            %s\n", line)
	}
}

// name is what to type for the run.
func name(r result.Result) string { return escape(r.ID) }
