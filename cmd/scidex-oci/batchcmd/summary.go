package batchcmd

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// summary is the last line on standard error. total is the number of lines, -1 where unknown.
func (b *session) summary(s batch.Summary, total int) string {
	if s == (batch.Summary{}) {
		return fmt.Sprintf("batch: %s has no line to run", b.lines.Name)
	}
	took := b.progress.Elapsed()
	text := fmt.Sprintf("batch: %d complete, %d failed, %s", s.Complete, s.Failed, result.Count(int64(s.Errors), "error", "errors"))
	if s.Canceled > 0 {
		text += fmt.Sprintf(", %d canceled", s.Canceled)
	}
	if s.Passed > 0 {
		text += fmt.Sprintf(", %d of them of an earlier batch", s.Passed)
	}
	if ran := s.Complete + s.Failed - s.Passed; ran > 0 && took > 0 {
		text += fmt.Sprintf("; %s by %s, %s", format.Duration(took.Milliseconds()), screen.Count(b.options.jobs, "job"), screen.Rate(float64(ran)/took.Seconds()))
	}
	return text + usedBefore(s) + notStarted(s, total)
}

// usedBefore says how many ids were used before, and the way out.
func usedBefore(s batch.Summary) string {
	const way = "used before: add --resume to skip what is done"
	switch {
	case s.Used == 0:
		return ""
	case s.Used == 1:
		return "; one id was " + way
	case s.Used == s.Done():
		return fmt.Sprintf("; all %d ids were %s", s.Used, way)
	}
	return fmt.Sprintf("; %d ids were %s", s.Used, way)
}

// notStarted says what was not started, and why.
func notStarted(s batch.Summary, total int) string {
	var why string
	switch {
	case s.Signal != nil:
		why = "ended by " + s.Signal.Name
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
		be := "were"
		if n == 1 {
			be = "was"
		}
		return fmt.Sprintf("; %s: %s %s not started, which --resume takes up", why, screen.Count(n, "line"), be)
	}
	return "; " + why
}
