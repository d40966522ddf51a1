// Package hints says to a person what to do about the end of a run. It only guesses: a hint never changes a state.
package hints

import (
	"errors"
	"regexp"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Facts are what hints are made of.
type Facts struct {
	Ended   phase.Ended
	Outcome outcome.Outcome
	Listed  []string // paths of outputs, if a declared one is missing
	Outputs int64    // how many there are
	Logs    result.Logs
	Caller  request.Caller // zero in recovery: there is none
	Host    Host
}

// Host is what the machine has, for limits above that; 0 is unknown.
type Host struct {
	Memory int64 // bytes
	CPUs   float64
}

// AskDoctor is the sentence about what the host lacks.
const AskDoctor = `"scidex-oci doctor" says what is missing on this host, and how to repair it`

// OfRefusal returns the hints of a request that was refused.
func OfRefusal(err error) []result.Hint {
	var host *request.HostError
	if errors.As(err, &host) {
		return []result.Hint{{Code: Doctor, Message: AskDoctor}}
	}
	return nil
}

func doctor(f Facts) string {
	if f.Outcome.State == outcome.Error && f.Outcome.Reason == outcome.ReasonSandbox && !f.Ended.Exit.Unhooked {
		return AskDoctor
	}
	return ""
}

// exited reports whether the analysis ended badly on its own: what it wrote to standard error may say why.
func (f Facts) exited() bool {
	switch f.Outcome.Reason {
	case outcome.ReasonExit, outcome.ReasonNotFound, outcome.ReasonNotInvocable, outcome.ReasonSignal, outcome.ReasonPidsLimit:
		return f.Outcome.State == outcome.Failed
	default:
		return false
	}
}

// find returns the first group of an expression that matched in the end of standard error of a failed analysis.
func (f Facts) find(expression func() *regexp.Regexp) string {
	if !f.exited() {
		return ""
	}
	return f.seen(expression)
}

// seen is find for a run that may have completed or timed out: a program that goes on may have hidden what failed.
func (f Facts) seen(expression func() *regexp.Regexp) string {
	if len(f.Ended.StderrEnd) == 0 || !f.exited() && f.Outcome.Reason != outcome.ReasonTimeout && f.Outcome.State != outcome.Complete {
		return ""
	}
	for _, group := range last(expression().FindAllStringSubmatch(f.Ended.StderrEnd, -1)) {
		if group != "" {
			return group
		}
	}
	return ""
}

// last returns the groups of the last match.
func last(matches [][]string) []string {
	if len(matches) == 0 {
		return nil
	}
	return matches[len(matches)-1][1:]
}

func (f Facts) bestEffort() bool { return f.Ended.Analysis.Limits == spec.LimitsBestEffort }

// pattern compiles an expression at its first use: the program starts several times for every run.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
