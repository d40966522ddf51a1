// Package judge decides how a run ended: the state, the reason, the exit code and the message of its result, and whether its working
// directory stays. A run and its recovery call Run once, with all that the phases before have found; it returns the row to be committed,
// with the signed statement if there is to be one. It hides the order of the reasons, what is a hint, and what the statement is made of.
package judge

import (
	"context"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/hints"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// Run gives an end its outcome and its row, and its signed statement if it is to have one. If that cannot be signed, scidex-oci
// has failed at what it was asked for: a complete run is then an error, any other has a warning.
func Run(ctx context.Context, e End, s Signing, now time.Time) (End, error) {
	if !e.Outer {
		e.warn(limits.Unheld(e.Report.Enforced)...)
	}
	var warnings []string
	e.Outcome, warnings = verdict(e.Ended, e.Harvest.Missing, e.failure())
	e.warn(warnings...)
	judged, err := e.concluded(now)
	if err != nil || !e.Signed {
		return judged, err
	}
	defer trace.From(ctx).Span(trace.Run, "sign the statement")()
	signed, err := s.sign(ctx, judged)
	if err == nil {
		return signed, nil
	}
	return e.unsigned(err).concluded(now)
}

// warn tells the user, by the warnings of the result.
func (e *End) warn(warnings ...string) { e.Report.Warnings = append(e.Report.Warnings, warnings...) }

// unsigned adds to an end that is not concluded yet why the run has no statement.
func (e End) unsigned(why error) End {
	why = fmt.Errorf("the run has no signed statement: %w", why)
	if e.Outcome.State == outcome.Complete {
		e.Outcome = outcome.Fault(outcome.ReasonCommit, result.Sentence(fmt.Errorf("%s, but %w", e.Outcome.Message, why)))
	} else {
		e.warn(result.Sentence(why))
	}
	return e
}

// concluded adds to an end what follows from its outcome: the hook that is due, hints, whether the working directory stays, and the row.
func (e End) concluded(now time.Time) (End, error) {
	committed := e.Outcome
	if hook := e.Hook; hook != nil && (hook.Always || committed.State == outcome.Complete) {
		e.Report.PostProcess = &result.PostProcess{Command: hook.Command}
		committed = WhileHookRuns(committed, e.Row.Key)
	}
	e.Report.Hints = hints.Of(e.facts())
	e.Keep = e.KeepWork(committed)
	if e.Keep && e.HasWork {
		e.Report.Kept = e.Location.Dir
	}
	return e, e.writeRow(committed, now)
}

// facts are what hints are made of.
func (e End) facts() hints.Facts {
	facts := hints.Facts{
		Ended: e.Ended, Outcome: e.Outcome, Outputs: e.Harvest.Outputs, Logs: e.Report.Logs, Caller: e.Caller, Host: hints.ReadHost(),
	}
	if e.Outcome.Reason != outcome.ReasonOutputMissing {
		return facts
	}
	for _, entry := range e.Harvest.Listed.Sorted() {
		if entry.Rejected == "" {
			facts.Listed = append(facts.Listed, outputs.Escape(entry.Path))
		}
	}
	return facts
}
