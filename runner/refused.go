package runner

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/hints"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Refused is the result of a request that did not become a run.
func Refused(a spec.Analysis, err error, version string) result.Result {
	reason := outcome.ReasonSandbox
	var refused *request.Error
	var unusable *request.CatalogError
	switch {
	case errors.As(err, &unusable):
		reason = outcome.ReasonCommit
	case errors.As(err, &refused):
		reason = outcome.ReasonRequest
	}
	state, code := outcome.Error, outcome.ExitError
	var stopped *request.StoppedError
	if errors.As(err, &stopped) {
		state, reason, code = outcome.Canceled, outcome.ReasonStopped, stopped.Signal.ExitCode
	}
	raw, marshalError := json.Marshal(a)
	if marshalError != nil {
		raw = []byte("null")
	}
	now := time.Now()
	return result.Result{
		V: result.Version, ID: a.ID, Outcome: outcome.Outcome{State: state, Reason: reason, Message: result.Sentence(err), ExitCode: code},
		CreatedAt: result.Millis(now), FinishedAt: result.Millis(now), Report: result.Report{Enforced: []result.Enforcement{}, Hints: hints.OfRefusal(err)},
		Outputs: []result.Output{}, Rejected: []result.Rejected{}, Audit: []result.AuditEvent{},
		BootID: workspace.BootID(), ToolVersion: version, Analysis: raw, Ran: result.Ran(raw),
	}
}
