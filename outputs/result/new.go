package result

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// ListingMax bounds the outputs and rejected entries in a result; `outputs ls --json` has the rest.
const ListingMax = 10_000

// Version is the result's `v`.
const Version = 1

// New makes a result of a row, without entries and events. It fails if the report cannot be read.
func New(run catalog.Run) (Result, error) {
	r := Result{
		V: Version, ID: run.ID, Attempt: run.Attempt, Outcome: run.Outcome,
		CreatedAt: Millis(run.CreatedAt), StartedAt: Millis(run.StartedAt), FinishedAt: Millis(run.FinishedAt),
		Outputs: []Output{}, Rejected: []Rejected{}, Audit: []AuditEvent{},
		OutputsTotal: run.OutputsTotal, RejectedTotal: run.RejectedTotal,
		ListingTruncated: run.OutputsTotal+run.RejectedTotal > ListingMax,
		Pinned:           run.Pinned, OutputsRemovedAt: Millis(run.OutputsRemovedAt),
		Labels: run.Labels, Host: run.Host, BootID: run.BootID, ToolVersion: run.ToolVersion,
		Analysis: run.Request, Ran: Ran(run.Request),
	}
	if !run.State.Final() {
		r.ExitCode = outcome.NoCode
	}
	var err error
	r.Report, err = ReportOf(run)
	if r.Enforced == nil {
		r.Enforced = []Enforcement{}
	}
	return r, err
}

// ReportOf reads a row's report; it is empty if the launcher wrote none, as for a lost run.
func ReportOf(run catalog.Run) (report Report, err error) {
	if len(run.Report) > 0 {
		err = json.Unmarshal(run.Report, &report)
	}
	return report, err
}

// Millis returns t in UTC and whole milliseconds, nil for the zero time.
func Millis(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}

// AddEntry lists an entry as an output or as rejected.
func (r *Result) AddEntry(e outputs.Entry) {
	if e.Rejected == "" {
		r.Outputs = append(r.Outputs, NewOutput(e))
	} else {
		r.Rejected = append(r.Rejected, NewRejected(e))
	}
}

// NewOutput converts an output's entry.
func NewOutput(e outputs.Entry) Output {
	path, exact := showPath(e.Path)
	return Output{
		Path: path, PathB64: exact, Size: e.Size, SHA256: e.SHA256, MediaType: e.MediaType,
		Mode: fmt.Sprintf("%04o", e.Mode), Partial: e.Partial,
	}
}

// NewRejected converts a rejected entry.
func NewRejected(e outputs.Entry) Rejected {
	path, exact := showPath(e.Path)
	return Rejected{Path: path, PathB64: exact, Reason: string(e.Rejected), Detail: outputs.Escape(e.Detail)}
}

// showPath returns a path for JSON: unchanged if it is UTF-8, else escaped, with the exact bytes.
func showPath(path []byte) (shown, exact string) {
	if utf8.Valid(path) {
		return string(path), ""
	}
	return outputs.Escape(path), base64.StdEncoding.EncodeToString(path)
}

// SetEvents lists the first events and counts all.
func (r *Result) SetEvents(events []catalog.Event) {
	r.AuditTotal = len(events)
	r.Audit = []AuditEvent{}
	for _, e := range events[:min(len(events), auditMax)] {
		address, exact := showPath(e.Address)
		r.Audit = append(r.Audit, AuditEvent{
			At: e.At.UTC().Truncate(time.Millisecond), Kind: e.Kind, Address: address, AddressB64: exact,
			Severity: e.Severity, Allowed: e.Allowed, Blocked: e.Blocked, Count: e.Count,
		})
	}
}
