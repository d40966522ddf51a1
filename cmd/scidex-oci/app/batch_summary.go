package app

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// summary is the last line on standard error. total is the number of lines, -1 where unknown.
func (b *batchInvocation) summary(s batch.Summary, total int) string {
	if s == (batch.Summary{}) {
		return fmt.Sprintf("batch: %s has no line to run", b.lines.Name)
	}
	took := b.progress.Elapsed()
	text := fmt.Sprintf("batch: %d complete, %d failed, %s", s.Complete, s.Failed, format.Count(s.Errors, "error", "errors"))
	if s.Canceled > 0 {
		text += fmt.Sprintf(", %d canceled", s.Canceled)
	}
	if s.Passed > 0 {
		text += fmt.Sprintf(", %d of them of an earlier batch", s.Passed)
	}
	if ran := s.Complete + s.Failed - s.Passed; ran > 0 && took > 0 {
		text += fmt.Sprintf("; %s by %s, %s", format.Duration(took.Milliseconds()), format.Count(b.options.jobs, "job", "jobs"), screen.Rate(float64(ran)/took.Seconds()))
	}
	if name := b.lines.SweepName(); name != "" {
		text += "; sweep " + name
	}
	return text + changedSince(s) + takenIDs(s) + notStarted(s, total, b.options.leftBy(!b.unnamed))
}

// changedSince says how many lines have another request or script now than the recorded one, and the way out.
func changedSince(s batch.Summary) string {
	switch s.Changed {
	case 0:
		return ""
	case 1:
		return "; one line has changed since it was run: --rerun changed runs it as it is now"
	}
	return fmt.Sprintf("; %d lines have changed since they were run: --rerun changed runs them as they are now", s.Changed)
}

// takenIDs says how many ids other runs have, and the way out. What runs now is, as a rule, the same batch, started twice.
func takenIDs(s batch.Summary) string {
	way := "used before: add --resume to skip what is done, or --rerun failed, changed or all to run again as it is now"
	if s.Busy > 0 && s.Busy < s.Taken {
		way = "used before or taken by another command that runs now: when that has ended, --resume takes up what is left, and --rerun failed, changed or all runs again as it is now"
	} else if s.Busy > 0 {
		way = "taken by another command that runs now: --resume takes up what is left when that has ended"
	}
	switch s.Taken {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("; id %s was %s", s.TakenID, way)
	case s.Done():
		return fmt.Sprintf("; all %d ids were %s", s.Taken, way)
	}
	return fmt.Sprintf("; %d ids, such as %s, were %s", s.Taken, s.TakenID, way)
}

// notStarted says what was not started, and why. way goes on with it.
func notStarted(s batch.Summary, total int, way string) string {
	var why string
	switch {
	case s.Signal != nil:
		why = "ended by " + s.Signal.Name
	case s.Full && total == s.Done():
		return "" // the last line was one of them
	case s.Full:
		why = "enough have failed"
	case s.Err != nil:
		why = "not all could be read"
	default:
		return ""
	}
	switch n := total - s.Done(); {
	case total < 0:
		return "; " + why + ": what is still to come on standard input was not started"
	case n > 0:
		return fmt.Sprintf("; %s: %s not started%s", why, format.Count(n, "line was", "lines were"), way)
	}
	return "; " + why
}
