package runner

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
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
	r := noRun(a, outcome.Outcome{State: state, Reason: reason, Message: result.Sentence(err), ExitCode: outcome.Code(code)}, version)
	r.FinishedAt, r.Hints = r.CreatedAt, hints.OfRefusal(err)
	return r
}

// Queued is the result of a request that waits for its turn.
func Queued(a spec.Analysis, version string) result.Result {
	return noRun(a, outcome.Outcome{State: outcome.Queued, Message: "it waits for its turn", ExitCode: outcome.NoCode}, version)
}

// noRun is the result of a request that is no run now.
func noRun(a spec.Analysis, o outcome.Outcome, version string) result.Result {
	a.Secrets = slices.Clone(a.Secrets)
	for i, name := range a.Secrets {
		a.Secrets[i], _, _ = strings.Cut(name, "=") // it may be refused for the value that it has
	}
	raw, err := json.Marshal(a)
	if err != nil {
		raw = []byte("null")
	}
	return result.Result{
		V: result.Version, ID: a.ID, Outcome: o, CreatedAt: result.Millis(time.Now()),
		Report:  result.Report{Enforced: []result.Enforcement{}},
		Outputs: []result.Output{}, Rejected: []result.Rejected{}, Audit: []result.AuditEvent{},
		BootID: workspace.BootID(), ToolVersion: version, Analysis: raw, Ran: result.Ran(raw),
	}
}
