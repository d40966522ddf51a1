// Package queue is the contract of a queue of analyses beside a catalog. What is queued has a row in the catalog, queued,
// and that row is the truth: the queue only brings a job to a worker, at least once, and may bring it to two. Which of
// them has the run, and that it ends once, is decided by the row, in the transaction that changes it.
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
)

// Job is what the queue brings to a worker.
type Job struct {
	ID      string          // of the analysis
	Request json.RawMessage // the spec.Analysis as it was submitted; each attempt begins with it
	// Memory in bytes, CPUs, and how long it may run, its grace included.
	Memory int64
	CPUs   float64
	Limit  time.Duration
	// Require are labels that its worker has to have.
	Require map[string]string
	// Retries is how many attempts may follow after one that ended in an error of scidex-oci or the host.
	Retries int
	NoAudit bool
	// LastTry says, of a job that was brought to a worker, that the queue will not bring it again after an error.
	LastTry bool
	// Returned is how often workers have given it back.
	Returned int
}

// DefaultRetries are those of a job of which nobody said how many.
const DefaultRetries = 3

// Submission is the row, queued, of the first attempt at an analysis, and what its job is to be. The request of the row is
// that of the job.
type Submission struct {
	Run     catalog.Run
	Retries int
	NoAudit bool
	// Class is whose workers it is for, "" that of DefaultClass.
	Class   string
	Require map[string]string
	// Priority is 1 to 4: those of 1 are taken first, and those of one priority in their order. 0 is 1.
	Priority int
	// It does not begin before At, where that is not zero, nor within After.
	At    time.Time
	After time.Duration
	// Unique says that nothing is to be queued where an analysis waits or runs that asks for the same, but for id and labels.
	Unique bool
}

// Placed is the run that stands for a submission: its own, or that of another which asks for the same.
type Placed struct {
	Key   catalog.Key
	State catalog.State // queued; of another's also running
	Other bool
}

// DefaultClass is the class of workers and jobs of which nobody said one.
const DefaultClass = "default"

// class is what a class may be called: a word in River's tables.
var class = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`) })

// ValidateClass returns why a name cannot be that of a class.
func ValidateClass(name string) error {
	if len(name) > 40 || !class().MatchString(name) {
		return fmt.Errorf("class %q: give up to 40 lower-case letters and digits, with - or _ between them", name)
	}
	return nil
}

// Queue is a queue of jobs. All methods may be used by several goroutines and processes.
type Queue interface {
	// Submit enqueues jobs and writes their rows, all in one transaction, and says which runs stand for them. It returns
	// catalog.ErrExists where a row of such an id and attempt is there.
	Submit(ctx context.Context, jobs []Submission) ([]Placed, error)
	// List returns jobs, those that were submitted last first; ended ones only where asked for. limit 0 means all.
	List(ctx context.Context, ended bool, limit int) ([]Entry, error)
	// Depth counts the jobs that have not ended.
	Depth(ctx context.Context) (Depth, error)
	// Get returns the last job of an analysis, or catalog.ErrNotFound.
	Get(ctx context.Context, id string) (Entry, error)
	// Cancel cancels a job that waits, with its row, in one transaction; it asks the worker of one that runs to end it,
	// and returns the job as it was before. One that has ended is catalog.ErrEnded, one that never was catalog.ErrNotFound.
	Cancel(ctx context.Context, id string) (Entry, error)
	// Retry queues a further attempt at an analysis whose last one is in error, lost or canceled, with a job like the
	// last. Otherwise it returns ErrNoRetry or ErrInQueue, and catalog.ErrNotFound where the queue knows no job of it.
	Retry(ctx context.Context, id string) (next catalog.Key, err error)
	// Rescue makes the jobs that a worker has available to others, and returns how many. It is for a dead one; what a living
	// one has begun ends as lost.
	Rescue(ctx context.Context, worker string) (n int, err error)
	// Pause has no worker take anything more, of any class; what runs goes on. Resume ends that. Each may be called twice.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Paused returns since when the queue is paused, nil where it is not.
	Paused(ctx context.Context) (since *time.Time, err error)
	// Work takes jobs and calls handle with each, up to o.Jobs of them at once, until ctx ends and all of them have
	// returned.
	Work(ctx context.Context, o Options, handle Handler) error
}

// Handler runs one job. Its context ends where the job is to: context.Cause is ErrCanceled, ErrDrained or ErrOverdue.
//
// Nil says that the claim's Settle or Commit has finished the job. *Later gives it back for others, untried; so does
// ErrDrained. ErrOpen leaves it as it is: it comes again when it is taken for stuck. After any other error the job comes
// again after a pause that grows.
type Handler func(ctx context.Context, claim Claim) error

// Why a job is to end, and what a handler returns.
var (
	ErrCanceled = errors.New("canceled")
	ErrDrained  = errors.New("the worker takes no more jobs")
	ErrOverdue  = errors.New("it took so long that another worker may have it")
	ErrOpen     = errors.New("what came of it is not in the catalog yet")
)

// Why there is no further attempt.
var (
	ErrNoRetry = errors.New("an analysis that has come to an end of its own is never repeated in the queue")
	ErrInQueue = errors.New("it is in the queue as it is")
)

// What a worker ends a run by whose job is to come again. The message of the row names it, so that the job does come again where
// the row was ended after the worker, by recovery.
const (
	ByDrain   = "the drain of its worker"
	ByOverdue = "its worker, because another may have it by now"
)

// ErrDone is returned by Settle for a job of which nothing is left to do.
var ErrDone = errors.New("done already")

// Later says that a job cannot run here now, and why. Unfit says that it can never run here, as its worker is.
type Later struct {
	After time.Duration
	Why   string
	Unfit bool
}

func (l *Later) Error() string { return fmt.Sprintf("%s; another try in %v", l.Why, l.After) }

// Claim is a job that this worker was brought. Others may have been brought it too.
type Claim interface {
	Job() Job
	// Settle returns the queued row that is to be filled in, and how many attempts have ended in an error. A row that is
	// running is of a worker that was not heard of for too long: it ends as lost, and a further attempt is queued, in one
	// transaction. So is one after an attempt that ended in an error or was lost. ErrDone says that the analysis has
	// ended, or was canceled; the job is finished then.
	Settle(ctx context.Context) (run catalog.Run, failures int, err error)
	// Begin makes the queued row a running one, as the intent of run. It returns catalog.ErrExists where it is not queued
	// any more.
	Begin(ctx context.Context, run catalog.Run) error
	// Commit is that of the catalog and, in the same transaction, what then says of the job. A run that has ended
	// otherwise is catalog.ErrEnded: another worker has taken the job. So is one that is running, and not by this claim's
	// Begin.
	Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), then Then) error
}

// Then is what becomes of a job with the end of a run.
type Then int

const (
	// Finish says that the queue is through with the job.
	Finish Then = iota
	// Requeue says that the job comes again, and queues a further attempt for it.
	Requeue
)

// Options are how a worker works.
type Options struct {
	Name    string   // no two workers have the same
	Classes []string // whose jobs it takes; nil: DefaultClass
	Jobs    int      // at once, of each class
	// Drain is how long running jobs may go on after the end of Work's context, before theirs ends.
	Drain time.Duration
	// Now, once closed, ends that time.
	Now <-chan struct{}
	// RescueAfter is how long after its Limit a job is taken for stuck and brought to another worker.
	RescueAfter time.Duration
}

// States of an Entry.
const (
	Waiting  = "waiting"
	Retrying = "retrying" // it waits for its time after an error
	Running  = "running"
	Ended    = "ended"
)

// Entry is a job as the queue has it, with the last attempt of its analysis.
type Entry struct {
	ID          string        `json:"id"`
	Class       string        `json:"class"`
	Priority    int           `json:"priority"`
	Attempt     int           `json:"attempt"` // the last
	State       string        `json:"state"`   // of the job: waiting, retrying, running, ended
	RunState    catalog.State `json:"run_state"`
	SubmittedAt time.Time     `json:"submitted_at"`
	NextAt      *time.Time    `json:"next_at,omitempty"`  // of one that waits: not before
	TakenAt     *time.Time    `json:"taken_at,omitempty"` // by the worker that had it last
	Worker      string        `json:"worker,omitempty"`   // that has it, or had it last
	Job         int64         `json:"job"`                // its number in the queue
	Tries       int           `json:"tries"`              // how often it was brought to a worker and not given back
	Canceling   bool          `json:"canceling,omitempty"`
	// Require are the labels that its worker has to have, and Why is what is known of why it waits.
	Require map[string]string `json:"require,omitempty"`
	Why     string            `json:"why,omitempty"`
	Errors  []string          `json:"errors"` // why it was to come again, the oldest first
}
