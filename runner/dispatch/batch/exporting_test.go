package batch

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestExporting(t *testing.T) {
	full := errors.New("the disk is full")
	for _, tt := range []struct {
		name     string
		line     dispatch.Line
		outcome  dispatch.LineResult
		fails    bool
		left     string // the warning of the export
		exported []catalog.Key
		state    outcome.State
		warnings int
	}{
		{name: "complete", outcome: endedAs(outcome.Complete), exported: []catalog.Key{{ID: "a", Attempt: 2}}, state: outcome.Complete},
		{name: "complete, and an output is left out", left: "left out", outcome: endedAs(outcome.Complete), exported: []catalog.Key{{ID: "a", Attempt: 2}}, state: outcome.Complete, warnings: 1},
		{name: "of an earlier batch", outcome: dispatch.LineResult{Result: endedAs(outcome.Complete).Result, Passed: true}, exported: []catalog.Key{{ID: "a", Attempt: 2}}, state: outcome.Complete},
		{name: "failed", outcome: endedAs(outcome.Failed), exported: []catalog.Key{{ID: "a", Attempt: 2}}, state: outcome.Failed},
		{name: "with an export of its own", line: dispatch.Line{Analysis: spec.Analysis{Export: "/x"}}, outcome: endedAs(outcome.Complete), state: outcome.Complete},
		{name: "refused", outcome: dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: outcome.Error}}}, state: outcome.Error},
		{name: "not in the catalog", outcome: dispatch.LineResult{Result: endedAs(outcome.Complete).Result, Err: full}, state: outcome.Complete},
		{name: "complete, and cannot be written", fails: true, outcome: dispatch.LineResult{Result: endedAs(outcome.Complete).Result, Passed: true}, exported: []catalog.Key{{ID: "a", Attempt: 2}}, state: outcome.Error},
		{name: "failed, and cannot be written", fails: true, outcome: endedAs(outcome.Failed), exported: []catalog.Key{{ID: "a", Attempt: 2}}, state: outcome.Failed, warnings: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var exported []catalog.Key
			e := Exporting{
				Work: workFunc(func(dispatch.Line, <-chan request.StopSignal) dispatch.LineResult { return tt.outcome }),
				Export: func(_ context.Context, run catalog.Key) (string, error) {
					exported = append(exported, run)
					if tt.fails {
						return "", full
					}
					return tt.left, nil
				},
			}
			got := e.Do(t.Context(), tt.line, nil)
			if !slices.Equal(exported, tt.exported) || got.Result.State != tt.state || len(got.Result.Warnings) != tt.warnings {
				t.Errorf("exported %v, and the outcome is %+v", exported, got)
			}
			if wrong := tt.fails && tt.state == outcome.Error; wrong && (got.Passed || got.Result.Reason != outcome.ReasonExport || got.Result.ExitCode != 125) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func endedAs(state outcome.State) dispatch.LineResult {
	return dispatch.LineResult{Result: result.Result{ID: "a", Attempt: 2, Outcome: outcome.Outcome{State: state}}}
}
