package runner

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/spec"
)

// listingMax is how many outputs and rejected entries a result lists; `outputs ls --json` has the rest.
const listingMax = 10_000

// resultVersion is the result's `v`.
const resultVersion = 1

// Show makes the result of a run in the catalog.
func (r *Runner) Show(ctx context.Context, run catalog.Run) (Result, error) {
	return r.show(ctx, run, func(Result) bool { return true })
}

// Summary is Show for a person: it lists up to so many outputs, and as many rejected entries where they come
// among the first of all.
func (r *Runner) Summary(ctx context.Context, run catalog.Run, most int64) (Result, error) {
	return r.show(ctx, run, func(listed Result) bool {
		return int64(len(listed.Outputs)) < min(most, run.OutputsTotal) || int64(len(listed.Rejected)) < min(most, run.RejectedTotal)
	})
}

// show lists entries for as long as more says so, and never more than listingMax.
func (r *Runner) show(ctx context.Context, run catalog.Run, more func(listed Result) bool) (Result, error) {
	if run, waits := r.told(run); waits {
		return r.showWaiting(run)
	}
	result, err := newResult(run)
	if err != nil {
		return result, err
	}
	events, err := r.Catalog.Events(ctx, run.Key)
	if err != nil {
		return result, err
	}
	result.listEvents(events)
	return result, r.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		result.list(e)
		return len(result.Outputs)+len(result.Rejected) < listingMax && more(result)
	})
}

// result makes the result of a run that has just ended, from memory.
func (e *execution) result(v verdict) Result {
	run := e.run
	run.State, run.Reason, run.Message = v.state, string(v.reason), v.message
	run.ExitCode, run.Signal = v.exitCode, v.signal
	result, err := newResult(run)
	e.tell(err)
	result.Report = e.report
	result.listEvents(run.Events)
	for _, entry := range e.excerpt.first() {
		result.list(entry)
	}
	return result
}

// newResult translates a row.
func newResult(run catalog.Run) (Result, error) {
	result := Result{
		V: resultVersion, ID: run.ID, Attempt: run.Attempt, State: run.State, Reason: Reason(run.Reason),
		Message: run.Message, ExitCode: run.ExitCode,
		CreatedAt: moment(run.CreatedAt), StartedAt: moment(run.StartedAt), FinishedAt: moment(run.FinishedAt),
		Outputs: []Output{}, Rejected: []Rejected{}, Audit: []AuditEvent{},
		OutputsTotal: run.OutputsTotal, RejectedTotal: run.RejectedTotal,
		ListingTruncated: run.OutputsTotal+run.RejectedTotal > listingMax,
		Pinned:           run.Pinned, OutputsRemovedAt: moment(run.OutputsRemovedAt),
		Labels: run.Labels, Host: run.Host, BootID: run.BootID, ToolVersion: run.ToolVersion,
		Analysis: run.Request,
	}
	if run.Signal != "" {
		result.Signal = &run.Signal
	}
	var err error
	result.Report, err = ReportOf(run)
	if result.Enforced == nil {
		result.Enforced = []Enforcement{}
	}
	return result, err
}

// ReportOf reads a row's report; that of a run whose launcher wrote none, such as a lost one, is empty.
func ReportOf(run catalog.Run) (report Report, err error) {
	if len(run.Report) > 0 {
		err = json.Unmarshal(run.Report, &report)
	}
	return report, err
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

func (r *Result) list(e outputs.Entry) {
	if e.Rejected == "" {
		r.Outputs = append(r.Outputs, NewOutput(e))
	} else {
		r.Rejected = append(r.Rejected, NewRejected(e))
	}
}

// NewOutput shows an entry that is an output.
func NewOutput(e outputs.Entry) Output {
	path, exact := showPath(e.Path)
	return Output{
		Path: path, PathB64: exact, Size: e.Size, SHA256: e.SHA256, MediaType: e.MediaType,
		Mode: fmt.Sprintf("%04o", e.Mode), Partial: e.Partial,
	}
}

// NewRejected shows an entry that is none.
func NewRejected(e outputs.Entry) Rejected {
	path, exact := showPath(e.Path)
	return Rejected{Path: path, PathB64: exact, Reason: string(e.Rejected), Detail: outputs.Escape(e.Detail)}
}

// showPath returns a path for JSON: as it is where it is UTF-8, else escaped, with the exact bytes
// beside it.
func showPath(path []byte) (shown, exact string) {
	if utf8.Valid(path) {
		return string(path), ""
	}
	return outputs.Escape(path), base64.StdEncoding.EncodeToString(path)
}

// Refused is the result of a request that did not become a run.
func Refused(a spec.Analysis, err error, version string) Result {
	reason := ReasonSandbox
	var refused *RequestError
	var unusable *CatalogError
	switch {
	case errors.As(err, &unusable):
		reason = ReasonCommit
	case errors.As(err, &refused):
		reason = ReasonRequest
	}
	state, code := catalog.Error, exitError
	var stopped *StoppedError
	if errors.As(err, &stopped) {
		state, reason, code = catalog.Canceled, ReasonStopped, stopped.Signal.ExitCode
	}
	request, marshalError := json.Marshal(a)
	if marshalError != nil {
		request = []byte("null")
	}
	now := time.Now()
	return Result{
		V: resultVersion, ID: a.ID, State: state, Reason: reason, Message: sentence(err), ExitCode: code,
		CreatedAt: moment(now), FinishedAt: moment(now), Report: Report{Enforced: []Enforcement{}},
		Outputs: []Output{}, Rejected: []Rejected{}, Audit: []AuditEvent{},
		BootID: BootID(), ToolVersion: version, Analysis: request,
	}
}
