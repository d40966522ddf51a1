// Package queue is the contract of a queue of analyses in the database of a catalog. A queued analysis has a queued row
// in the catalog, which is authoritative: the queue only delivers a job to a worker, at least once, possibly to two.
// The transaction that changes the row decides which worker has the run, and that it ends once.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Job is what a queue delivers to workers.
type Job struct {
	ID      string          // of the analysis
	Class   string          // of its workers
	Request json.RawMessage // the spec.Analysis as submitted; each attempt starts with it
	// Memory in bytes, CPUs, and the time limit, its grace included.
	Memory int64
	CPUs   float64
	Limit  time.Duration
	// Require are labels that its worker must have.
	Require map[string]string
	// Retries is how many attempts may follow one that ended in an error of scidex-oci or the host.
	Retries int
	NoAudit bool
	// Trace is that of the submission, as the queue has it. Others can write anything there: check it.
	Trace Trace
	// LastTry says, of a delivered job, that the queue will not deliver it again after an error.
	LastTry bool
	// Returned is how often workers have returned it.
	Returned int
}

// Trace is a trace context of W3C's (www.w3.org/TR/trace-context), in the texts of its two headers; the zero Trace is none.
type Trace struct {
	Parent string `json:"parent"`
	State  string `json:"state,omitempty"`
}

// DefaultRetries is the default of Job.Retries.
const DefaultRetries = 3

// Submission is the queued row of the first attempt at an analysis, and the properties of its job. The row's request is that
// of the job.
type Submission struct {
	Run     catalog.Run
	Retries int
	NoAudit bool
	// Trace is the context of the submitter.
	Trace Trace
	// Class is the class of its workers, "" for DefaultClass.
	Class   string
	Require map[string]string
	// Priority is 1 to 4: 1 is taken first, equal ones in order of submission. 0 is 1.
	Priority int
	// It does not start before At, if that is not zero, nor within After.
	At    time.Time
	After time.Duration
	// Unique says that nothing is queued if the same analysis, apart from id and labels, waits or runs.
	Unique bool
}

// Placed is the run for a submission: its own, or that of an equal one.
type Placed struct {
	Key   catalog.Key
	State outcome.State // queued, or running if another's
	Other bool
}

// DefaultClass is the default class of workers and jobs.
const DefaultClass = "default"

// class is the syntax of a class: a word in River's tables.
var class = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`) })

// ValidateClass returns why a name is no valid class.
func ValidateClass(name string) error {
	if len(name) > 40 || !class().MatchString(name) {
		return fmt.Errorf("class %q: give up to 40 lower-case letters and digits, with - or _ between them", name)
	}
	return nil
}

// Queue is a queue of jobs. All methods may be used by several goroutines and processes.
type Queue interface {
	// Submit enqueues jobs and writes their rows, all in one transaction, and returns the runs for them. It returns
	// catalog.ErrExists if a row of such an id and attempt exists.
	Submit(ctx context.Context, jobs []Submission) ([]Placed, error)
	// List returns jobs, last submitted first; ended ones only if requested. limit 0 means all.
	List(ctx context.Context, ended bool, limit int) ([]Entry, error)
	// Workers returns the workers that have a lease or jobs, by name.
	Workers(ctx context.Context) ([]Worker, error)
	// Depth counts the jobs that have not ended, by class: the first NamedClasses, those with a worker before others.
	Depth(ctx context.Context) ([]ClassDepth, error)
	// Get returns the last job of an analysis, or catalog.ErrNotFound.
	Get(ctx context.Context, id string) (Entry, error)
	// Cancel cancels a waiting job, with its row, in one transaction; it requests the worker of a running one to end it, and
	// returns the job as it was before. An ended job is catalog.ErrEnded, an unknown one catalog.ErrNotFound.
	Cancel(ctx context.Context, id string) (Entry, error)
	// Retry queues a further attempt at an analysis whose last one is in error, lost or canceled, with a job like the last.
	// Otherwise it returns ErrNoRetry or ErrInQueue, and catalog.ErrNotFound if the queue has no job of it.
	Retry(ctx context.Context, id string) (next catalog.Key, err error)
	// Rescue makes a worker's jobs available to others, ends its lease, and returns how many jobs it had. One with neither
	// is catalog.ErrNotFound. It is for a dead worker; a living worker's runs end as lost.
	Rescue(ctx context.Context, worker string) (n int, err error)
	// Pause stops workers of all classes from taking jobs; running ones continue. Resume undoes it. Both are idempotent.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Paused returns since when the queue is paused, nil if it is not.
	Paused(ctx context.Context) (since *time.Time, err error)
	// Work takes jobs and calls handle with each, up to o.Jobs of them at once, until ctx ends and all of them have
	// returned.
	Work(ctx context.Context, o Options, handle Handler) error
}

// Handler runs one job. Its context ends when the job must end: context.Cause is ErrCanceled, ErrDrained or ErrOverdue.
//
// Nil says that the claim's PrepareRow or Commit has finished the job. *Later returns it, untried; so does ErrDrained. ErrOpen
// leaves it as it is: it is delivered again once it counts as stuck. After any other error it is retried after a growing
// pause.
type Handler func(ctx context.Context, claim Claim) error

// Why a job must end, and what a handler returns.
var (
	ErrCanceled = errors.New("canceled")
	ErrDrained  = errors.New("the worker takes no more jobs")
	ErrOverdue  = errors.New("it took so long that another worker may have it")
	ErrOpen     = errors.New("its result is not in the catalog yet")
)

// The refusals of Retry.
var (
	ErrNoRetry = errors.New("an analysis that has come to an end of its own is never repeated in the queue")
	ErrInQueue = errors.New("it is in the queue as it is")
)

// The reasons of runs whose job is to be delivered again. The message of the row contains them, so that the job is retried even if
// recovery ended the row after the worker.
const (
	ByDrain   = "the drain of its worker"
	ByOverdue = "its worker, because another may have it by now"
)

// ErrDone is returned by PrepareRow for a job that is finished.
var ErrDone = errors.New("done already")

// Later says that a job cannot run here now, and why. Unfit says that this worker can never run it.
type Later struct {
	After time.Duration
	Why   string
	Unfit bool
}

func (l *Later) Error() string { return fmt.Sprintf("%s; another try in %v", l.Why, l.After) }

// Claim is a job delivered to this worker, and possibly to others.
type Claim interface {
	Job() Job
	// PrepareRow returns the queued row to fill in, and how many attempts have ended in an error. A running row belongs
	// to a worker that was silent for too long: it ends as lost, and a further attempt is queued, in one transaction. A
	// further attempt is also queued after one that ended in an error or was lost. ErrDone says that the analysis has
	// ended, or was canceled; the job is then finished.
	PrepareRow(ctx context.Context) (run catalog.Run, failures int, err error)
	// Begin turns the queued row into a running one, as the intent of run. It returns catalog.ErrExists if not queued any
	// more.
	Begin(ctx context.Context, run catalog.Run) error
	// Commit is that of the catalog and, in the same transaction, does with the job what then says. A run that ended
	// otherwise is catalog.ErrEnded: another worker has taken the job. So is a running one not started by this claim's
	// Begin.
	Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), then Then) error
}

// Then is what to do with a job at the end of a run.
type Then int

const (
	// Finish finishes the job.
	Finish Then = iota
	// Requeue queues the job again, with a further attempt.
	Requeue
)

// Options configure a worker.
type Options struct {
	Name    string   // unique among workers
	Classes []string // of its jobs; nil: DefaultClass
	Jobs    int      // at once, of each class
	// Drain is how long running jobs may go on after the end of Work's context, before their contexts end.
	Drain time.Duration
	// Now ends that time when closed.
	Now <-chan struct{}
	// RescueAfter is how long after its Limit a job counts as stuck and goes to another worker.
	RescueAfter time.Duration
	// Lease is how long the worker may be silent before others may take its jobs, as lease.Default. 0: they may not, and it
	// takes none of theirs.
	Lease time.Duration
	// Rescued, if not nil, is called when this worker has made the jobs of a dead one, whose lease had run out,
	// available to others, with their number. It must not block.
	Rescued func(jobs int)
}

// States of an Entry.
const (
	Waiting  = "waiting"
	Retrying = "retrying" // it waits for a retry after an error
	Running  = "running"
	Ended    = "ended"
)

// Entry is a job in the queue, with the last attempt of its analysis.
type Entry struct {
	ID          string        `json:"id"`
	Class       string        `json:"class"`
	Priority    int           `json:"priority"`
	Attempt     int           `json:"attempt"` // the last
	State       string        `json:"state"`   // of the job: waiting, retrying, running, ended
	RunState    outcome.State `json:"run_state"`
	SubmittedAt time.Time     `json:"submitted_at"`
	NextAt      *time.Time    `json:"next_at,omitempty"`  // of a waiting one: not before
	TakenAt     *time.Time    `json:"taken_at,omitempty"` // by its last worker
	Worker      string        `json:"worker,omitempty"`   // its current or last worker
	Job         int64         `json:"job"`                // its number in the queue
	Tries       int           `json:"tries"`              // deliveries to workers, without returned ones
	Canceling   bool          `json:"canceling,omitempty"`
	// Require are the labels that its worker must have, and Why is the known reason why it waits.
	Require map[string]string `json:"require,omitempty"`
	Why     string            `json:"why,omitempty"`
	Errors  []string          `json:"errors"` // the reasons of its retries, oldest first
}
