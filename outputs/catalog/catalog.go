// Package catalog is the contract of the database of runs and outputs. Implementations are in child
// packages; they pass one conformance suite (catalogtest).
//
// The tables, the same in every dialect (migrations):
//
//   - analysis_run: one row for each attempt of an analysis, by (id, attempt): state, reason, message,
//     exit code, signal, times, and three JSON documents: request (the spec.Analysis as it was run),
//     place (where it lives on its host) and report (usage, evidence, enforced limits, sandbox, logs).
//     A run that has not ended has no exit code. Times are UTC; in SQLite they are text of one width
//     ("2006-01-02T15:04:05.000Z"), so that their order is the order of time.
//   - run_label: the labels of a run, one row each.
//   - run_blob: the digests of a run's own blobs (logs, script).
//   - analysis_output: one row for each entry of the working directory, by (id, attempt, path); path
//     and detail are exact bytes. verdict is 'output' or the reason why the entry is none. content is
//     kept for small outputs that a later version stores in the row itself.
//   - sandbox_audit_event: what a sandbox saw a run try, by (analysis_id, attempt) and time; path_or_addr
//     is exact bytes, count is how often the same was seen.
//   - selftest_report: what a selftest of a host found, by time, with its whole report as JSON; it
//     belongs to no run.
//   - catalog_meta: facts of the database itself; 'catalog_id' is made when it is created.
//   - goose_db_version: the migrations that were applied.
//
// Everything that belongs to a run refers to analysis_run and goes with it.
package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// Sentinel errors a caller decides by.
var (
	// ErrNotFound is returned for a run or output that the catalog does not have.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned by Create for an id and attempt that are taken.
	ErrExists = errors.New("exists already")
	// ErrAmbiguous is returned by Find for a prefix that several ids share.
	ErrAmbiguous = errors.New("ambiguous")
	// ErrNotEnded is returned by Delete for a run that is queued or running.
	ErrNotEnded = errors.New("not ended yet")
	// ErrPinned is returned by Delete and DropOutputs for a run that is pinned.
	ErrPinned = errors.New("pinned")
	// ErrEnded is returned by Commit for a run that has ended otherwise, as when gc took it for lost.
	ErrEnded = errors.New("ended already, with another outcome")
)

// passing marks an error without changing what it says.
type passing struct{ error }

func (p passing) Unwrap() error { return p.error }

// Passing marks an error that may pass by itself: a lock that others hold, a full disk, a server that is gone.
func Passing(err error) error { return passing{err} }

// MayPass reports whether an error was marked by Passing: whoever must not lose what was to be written tries again.
func MayPass(err error) bool {
	var p passing
	return errors.As(err, &p)
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
	State    State
	Reason   string // see the result's `reason`; empty while running
	Message  string // one sentence for a person
	ExitCode int    // of the command line
	Signal   string // "SIGKILL" where the analysis died of one, else empty

	CreatedAt, StartedAt, FinishedAt time.Time // UTC, kept to the millisecond; zero where it has not happened

	Labels  map[string]string
	Request json.RawMessage // the spec.Analysis as it was run
	Place   json.RawMessage // where the run lives on its host; what gc needs (runner.Place)
	Report  json.RawMessage // usage, evidence, enforced, sandbox, logs (runner.Report)

	// Blobs are the digests of the run's own blobs: logs and script. Read back sorted, each once.
	Blobs []string

	// Events are written by Commit and never read back with the run: Events of the Catalog reads them.
	Events []Event

	Host, BootID, ToolVersion string

	// Pinned is true for a run that nothing may remove. Create writes it, Pin changes it.
	Pinned bool
	// OutputsRemovedAt is when the contents of the outputs were given up (DropOutputs), zero where they are there.
	// Commit writes it for a copy of such a run.
	OutputsRemovedAt time.Time

	// OutputsTotal and RejectedTotal are counted by Commit as it reads the entries; what a caller sets
	// is ignored.
	OutputsTotal, RejectedTotal int64
}

// Filter selects runs for List; zero fields select everything.
type Filter struct {
	Since, Until time.Time // by creation, to the millisecond: from Since on and before Until
	States       []State
	Reasons      []string
	Labels       map[string]string // all of them, with exactly these values
	Host         string
	ID           string // exact id: all its attempts
	ActionID     string // of the report; a digest
	Text         string // what the id contains, as it is spelled
	After        Mark   // what List would return after this run; the zero Mark is before all
	Limit        int    // 0: no limit
}

// Mark is a place in the order of List: that of a run, whether or not it is still there.
type Mark struct {
	CreatedAt time.Time // to the millisecond
	Key
}

// OutputQuery selects outputs for FindOutputs; zero fields select everything.
type OutputQuery struct {
	Since  time.Time // of runs created from then on, to the millisecond
	Digest string    // those whose sha256 begins with it, in lower-case hexadecimal digits
}

// FoundOutput is one output and the run that made it.
type FoundOutput struct {
	Key
	CreatedAt        time.Time // of the run
	OutputsRemovedAt time.Time // as in Run
	outputs.Entry
}

// Catalog is the database of runs and outputs. All methods may be used by several goroutines, and
// several processes may use one database. Create, Update, Commit and Amend return ErrTransition for a change of state
// that the machine (state.go) does not have, and leave the run as it is.
type Catalog interface {
	// Create writes the intent row before the first side effect of a run: state running (or queued).
	// Attempt and CreatedAt must be set. It returns ErrExists where id and attempt are taken.
	Create(ctx context.Context, run Run) error
	// Update replaces State, Place and StartedAt of a run that has not ended; an empty Place or
	// StartedAt leaves what is there. Only Commit ends a run: one that has ended is left alone and ErrNotFound
	// is returned.
	Update(ctx context.Context, run Run) error
	// Commit writes the final state of a run, its events and all its outputs in one transaction. An event
	// that is not valid (Event.Validate) is refused before anything is written. Commit is idempotent
	// by id and attempt: a run that has already ended is left as it is, and nil is returned where state and
	// end are those of run (a retry after a lost reply), else ErrEnded. Entries
	// are pulled until next returns io.EOF; any other error of next undoes everything and is returned.
	// The transaction is open meanwhile, so next must not wait for anything slow nor write to the
	// catalog. Paths must be distinct. An error that MayPass may be gone when the same is committed once more, with a
	// next that begins anew.
	//
	// What Create wrote about the request stays (CreatedAt, Labels, Request, Host, BootID,
	// ToolVersion); Blobs are added to those there are; an empty StartedAt, Place or Report leaves what
	// is there. A run that was never created is ErrNotFound.
	Commit(ctx context.Context, run Run, next func() (outputs.Entry, error)) error

	// Amend replaces State, Reason, Message, ExitCode and Report of a run that has ended: what went
	// wrong after its commit (an export). Its Events are ignored. It returns ErrNotFound for a run that
	// has not ended.
	Amend(ctx context.Context, run Run) error

	// Get returns one run or ErrNotFound. Attempt 0 means the last.
	Get(ctx context.Context, key Key) (Run, error)
	// Find resolves what a person types, see ParseName: ID, ID@ATTEMPT, a unique prefix of an id in
	// place of the ID, or @last (the run created last). An id that is spelled out wins over longer ids
	// that begin with it. It returns ErrNotFound or ErrAmbiguous, which names up to five ids.
	Find(ctx context.Context, name string) (Run, error)
	// List returns runs, the newest first.
	List(ctx context.Context, filter Filter) ([]Run, error)
	// Outputs calls yield for each entry of a run in the order of the path's bytes, outputs and
	// rejected ones, until yield returns false. Attempt 0 means the last; an unknown run is ErrNotFound.
	// No write lock is held meanwhile, and yield may use the catalog.
	Outputs(ctx context.Context, key Key, yield func(outputs.Entry) bool) error
	// Output returns one output (not a rejected entry) by its exact path or ErrNotFound. Attempt 0
	// means the last.
	Output(ctx context.Context, key Key, path []byte) (outputs.Entry, error)
	// FindOutputs calls yield for each output of any run that query selects, the newest run first and within
	// a run in the order of the path's bytes, as of one moment, until yield returns false. Memory does not
	// depend on how many there are.
	FindOutputs(ctx context.Context, query OutputQuery, yield func(FoundOutput) bool) error
	// Usage calls yield for each run that has ended and that filter selects, in no order, as of one moment, with the value
	// that label has for it, until yield returns false; an empty label is that of no run. filter.Limit is ignored.
	Usage(ctx context.Context, filter Filter, label string, yield func(Usage) bool) error
	// Digests calls yield for every sha256 that an output, log or script of any run needs, each once,
	// sorted, as of one moment, until yield returns false. Those of dropped outputs are not among them.
	Digests(ctx context.Context, yield func(sha256 string) bool) error
	// Events returns what the sandbox saw a run try, in the order of time and, within one millisecond,
	// in that of Run.Events. Attempt 0 means the last; an unknown run is ErrNotFound.
	Events(ctx context.Context, key Key) ([]Event, error)
	// Pin pins a run, ended or not, or takes the pin back; it is no error where that was done before. The
	// attempt must be named: 0 is ErrNotFound.
	Pin(ctx context.Context, key Key, pinned bool) error
	// DropOutputs gives up the contents of an ended run's outputs: their rows and digests stay, and Digests
	// does not name them for this run any more. A second call leaves the time of the first. A run that has not
	// ended is ErrNotEnded, one that is pinned ErrPinned. The attempt must be named: 0 is ErrNotFound.
	DropOutputs(ctx context.Context, key Key, at time.Time) error
	// Delete removes an ended run with its labels, outputs and audit events. A run that has not ended
	// is ErrNotEnded, one that is pinned ErrPinned. The attempt must be named: 0 is ErrNotFound.
	Delete(ctx context.Context, key Key) error

	// AddSelftest keeps the report of a selftest; every call adds one. A report that is not valid
	// (Selftest.Validate) is refused.
	AddSelftest(ctx context.Context, report Selftest) error
	// Selftests returns up to limit reports, the newest first, and of one millisecond the one added last
	// first; limit 0 means all.
	Selftests(ctx context.Context, limit int) ([]Selftest, error)

	// CatalogID is the identity that the catalog shares with its blob store.
	CatalogID(ctx context.Context) (string, error)
	// Close releases the handle; a second call does nothing and returns nil.
	Close() error
}
