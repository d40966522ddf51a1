package batch

import (
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
)

// ExitCode is a batch's exit code: that of the signal which drained it, 125 if a line ended in an error, 1 if one
// failed or was canceled, else 0.
func (s Summary) ExitCode() int {
	switch {
	case s.Signal != nil:
		return s.Signal.ExitCode
	case s.Errors > 0:
		return outcome.ExitError
	case s.Failed+s.Canceled > 0:
		return 1
	}
	return 0
}

// ExitCode is that of a batch with only this result.
func ExitCode(r result.Result) int {
	var s Summary
	s.Add(dispatch.LineResult{Result: r})
	return s.ExitCode()
}
