// Package catalog is the contract of the database of runs and outputs. Implementations are in child packages; they pass one
// conformance suite (catalogtest).
//
// The tables, the same in every dialect (migrations):
//
//   - analysis_run: one row for each attempt of an analysis, by (id, attempt): state, reason, message,
//     exit code, signal, times, and three JSON documents: request (the spec.Analysis as it was run),
//     place (its location on its host) and report (usage, evidence, enforced limits, sandbox, logs).
//     A run that has not ended has no exit code. Times are UTC; in SQLite they are text of fixed width
//     ("2006-01-02T15:04:05.000Z"), so that they sort by time.
//   - run_label: the labels of a run, one row each.
//   - run_blob: the digests of a run's own blobs (logs, script).
//   - analysis_output: one row for each entry of the working directory, by (id, attempt, path); path
//     and detail are exact bytes. verdict is 'output' or the reason why the entry is none. content is
//     kept for small outputs that a later version stores in the row itself.
//   - sandbox_audit_event: what a sandbox saw a run try, by (analysis_id, attempt) and time; path_or_addr
//     is exact bytes, count is the number of times.
//   - selftest_report: the result of a host's selftest, by time, with its whole report as JSON; it
//     belongs to no run.
//   - catalog_meta: facts of the database itself; 'catalog_id' is made when it is created.
//   - goose_db_version: the migrations that were applied.
//
// Everything that belongs to a run refers to analysis_run and is deleted with it.
package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Sentinel errors.
var (
	// ErrNotFound is returned for a run or output that is not in the catalog.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned by Create for an existing id and attempt.
	ErrExists = errors.New("exists already")
	// ErrAmbiguous is returned by Find for a prefix that several ids share.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrNotEnded is returned by Delete for a run that is queued or running.
	ErrNotEnded = errors.New("not ended yet")
	// ErrPinned is returned by Delete and DropOutputs for a run that is pinned.
	ErrPinned = errors.New("pinned")
	// ErrEnded is returned by Commit for a run that has ended otherwise, for instance as lost by gc.
	ErrEnded = errors.New("ended already, with another outcome")
	// ErrUnreachable is that of errors marked by Unreachable.
	ErrUnreachable = errors.New("the catalog cannot be reached")
)

// transient marks an error without changing its text.
type transient struct{ error }

func (t transient) Unwrap() error { return t.error }

// Transient marks a transient error: a lock that others hold, a full disk, an unreachable server.
func Transient(err error) error { return transient{err} }

// Unreachable marks an error of a server that cannot be reached, or is lost before anything was committed. It is transient too.
func Unreachable(err error) error { return unreachable{Transient(err)} }

type unreachable struct{ error }

func (u unreachable) Unwrap() error        { return u.error }
func (u unreachable) Is(target error) bool { return target == ErrUnreachable } //nolint:errorlint // errors.Is walks the chain

// IsTransient reports whether an error was marked by Transient: retry what must not be lost.
func IsTransient(err error) bool {
	var t transient
	return errors.As(err, &t)
}

// Key names one run: the attempt-th execution (from 1) of an analysis.
type Key struct {
	ID      string
	Attempt int
}

// String returns "ID@ATTEMPT", as commands take it (ParseName).
func (k Key) String() string { return k.ID + "@" + strconv.Itoa(k.Attempt) }

// Run is one row of analysis_run.
type Run struct {
	Key
	outcome.Outcome `json:"-"` // MarshalJSON writes it

	CreatedAt, StartedAt, FinishedAt time.Time // UTC, to the millisecond; zero if not happened

	Labels  map[string]string
	Request json.RawMessage // the spec.Analysis as it was run
	Place   json.RawMessage // the run's location on its host, for gc (workspace.Location)
	Report  json.RawMessage // usage, evidence, enforced, sandbox, logs (result.Report)

	// Blobs are the digests of the run's own blobs: logs and script. Read back sorted and unique.
	Blobs []string

	// Events are written by Commit; Events of the Catalog reads them.
	Events []Event

	Host, BootID, ToolVersion string

	// Pinned protects a run from removal. Create writes it, Pin changes it.
	Pinned bool
	// OutputsRemovedAt is when the contents of the outputs were dropped (DropOutputs), zero if they exist. Commit writes it
	// for a copy of such a run.
	OutputsRemovedAt time.Time

	// OutputsTotal and RejectedTotal are counted by Commit as it reads the entries; a caller's values are ignored.
	OutputsTotal, RejectedTotal int64
}

// EndsNow is the FinishedAt of a run that ends now: never before its other times, which may be by another host's clock, or by this one
// before it was set back.
func (r Run) EndsNow() time.Time {
	now := time.Now().UTC()
	for _, earlier := range []time.Time{r.CreatedAt, r.StartedAt} {
		if now.Before(earlier) {
			now = earlier
		}
	}
	return now
}

// Filter selects runs for List; zero fields select everything.
type Filter struct {
	Since, Until time.Time // by creation, to the millisecond: from Since on and before Until
	States       []outcome.State
	Reasons      []outcome.Reason
	Labels       map[string]string // all of them, with these exact values
	Host         string
	ID           string // exact id: all its attempts
	ActionID     string // of the report; a digest
	Last         bool   // only the last attempt of each id; for List
	// Text is a case-sensitive part of the id, or of what ran: the name of the script and its arguments, or the command,
	// with a blank between two words.
	Text  string
	After Mark // what follows this run in List; the zero Mark is before all
	Limit int  // 0: no limit
}

// Mark is a position in the order of List: that of a run, even if removed.
type Mark struct {
	CreatedAt time.Time // to the millisecond
	Key
}

// OutputQuery selects outputs for FindOutputs; zero fields select everything.
type OutputQuery struct {
	Since  time.Time         // of runs created from then on, to the millisecond
	Digest string            // a prefix of the sha256, in lower-case hexadecimal digits
	States []outcome.State   // of runs in one of these
	Labels map[string]string // of runs with all of these
}

// FoundOutput is one output and the run that made it.
type FoundOutput struct {
	Key
	CreatedAt        time.Time // of the run
	OutputsRemovedAt time.Time // as in Run
	outputs.Entry
}

// Catalog is the database of runs and outputs. All methods may be used by several goroutines, and several processes may use
// one database. Create, Update, Commit and Amend return ErrTransition for a change of state that the machine (state.go) does
// not have, and leave the run unchanged.
type Catalog interface {
	// Create writes the intent row before the first side effect of a run: state running (or queued). Attempt and CreatedAt
	// must be set. It returns ErrExists if id and attempt exist.
	Create(ctx context.Context, run Run) error
	// Update replaces State, Place and StartedAt of a run that has not ended; an empty Place or StartedAt keeps the old
	// value. Only Commit ends a run: an ended one is unchanged and ErrNotFound is returned.
	Update(ctx context.Context, run Run) error
	// Commit writes the final state of a run, its events and all its outputs in one transaction. An invalid event
	// (Event.Validate) is refused before anything is written. Commit is idempotent by id and attempt: an ended run is
	// left unchanged, and nil is returned if state and end are those of run (a retry after a lost reply), else
	// ErrEnded. Entries are pulled until next returns io.EOF; any other error of next undoes everything and is
	// returned. The transaction is open until then, so next must not wait for anything slow nor write to the catalog.
	// Paths must be distinct. After a IsTransient error the commit may be retried, with a next that starts again.
	//
	// The values of Create for the request stay (CreatedAt, Labels, Request, Host, BootID, ToolVersion); Blobs are added to
	// the existing ones; an empty StartedAt, Place or Report keeps the old value. An unknown run is ErrNotFound.
	Commit(ctx context.Context, run Run, next func() (outputs.Entry, error)) error

	// Amend replaces State, Reason, Message, ExitCode and Report of an ended run after a failure that followed its commit
	// (an export). Its Events are ignored. It returns ErrNotFound for a run that has not ended.
	Amend(ctx context.Context, run Run) error

	// Get returns one run or ErrNotFound. Attempt 0 means the last.
	Get(ctx context.Context, key Key) (Run, error)
	// Find resolves a name, see ParseName: ID, ID@ATTEMPT, a unique prefix of an id instead of the ID, or @last (the
	// run created last). A complete id wins over longer ids with that prefix. It returns ErrNotFound or ErrAmbiguous,
	// which names up to five ids.
	Find(ctx context.Context, name string) (Run, error)
	// List returns runs, newest first.
	List(ctx context.Context, filter Filter) ([]Run, error)
	// Outputs calls yield for each entry of a run, outputs and rejected ones, sorted by the bytes of the path, until
	// yield returns false. Attempt 0 means the last; an unknown run is ErrNotFound. No write lock is held, and yield
	// may use the catalog.
	Outputs(ctx context.Context, key Key, yield func(outputs.Entry) bool) error
	// Output returns one output (not a rejected entry) by its exact path or ErrNotFound. Attempt 0
	// means the last.
	Output(ctx context.Context, key Key, path []byte) (outputs.Entry, error)
	// FindOutputs calls yield for each output of any run that query selects, newest run first and within a run sorted by the
	// bytes of the path, in one snapshot, until yield returns false. Memory does not depend on their number.
	FindOutputs(ctx context.Context, query OutputQuery, yield func(FoundOutput) bool) error
	// Usage calls yield for each ended run that filter selects, unsorted, in one snapshot, with its value of label, until
	// yield returns false; no run has an empty label. filter.Limit is ignored.
	Usage(ctx context.Context, filter Filter, label string, yield func(Usage) bool) error
	// Digests calls yield for every sha256 that an output, log or script of any run needs, unique and sorted, in one
	// snapshot, until yield returns false. Those of dropped outputs are not included.
	Digests(ctx context.Context, yield func(sha256 string) bool) error
	// Events returns what the sandbox saw a run try, sorted by time and, within one millisecond, as in Run.Events. Attempt 0
	// means the last; an unknown run is ErrNotFound.
	Events(ctx context.Context, key Key) ([]Event, error)
	// Pin pins or unpins a run, ended or not; it is idempotent. Attempt 0 is ErrNotFound.
	Pin(ctx context.Context, key Key, pinned bool) error
	// DropOutputs drops the contents of an ended run's outputs: their rows and digests stay, and Digests does not name them
	// for this run any more. A second call keeps the first time. A run that has not ended is ErrNotEnded, a pinned one
	// ErrPinned. Attempt 0 is ErrNotFound.
	DropOutputs(ctx context.Context, key Key, at time.Time) error
	// Delete removes an ended run with its labels, outputs and audit events. A run that has not ended is ErrNotEnded, a
	// pinned one ErrPinned. Attempt 0 is ErrNotFound.
	Delete(ctx context.Context, key Key) error

	// CatalogID is the identity shared by the catalog and its blob store.
	CatalogID(ctx context.Context) (string, error)
	// Close releases the handle; a second call does nothing and returns nil.
	Close() error
}
