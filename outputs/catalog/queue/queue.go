// Package queue is the contract of a queue of analyses beside a catalog. What is queued has a row in the catalog, queued,
// and that row is the truth: the queue only brings a job to a worker, at least once, and may bring it to two. Which of
// them has the run, and that it ends once, is decided by the row, in the transaction that changes it.
package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// Retries is how many attempts may follow after one that ended in an error of scidex-oci or the host.
	Retries int
	NoAudit bool
	// LastTry says, of a job that was brought to a worker, that the queue will not bring it again after an error.
	LastTry bool
}

// Submission is a job and the row, queued, of its first attempt.
type Submission struct {
	Job
	Run catalog.Run
}

// Queue is a queue of jobs. All methods may be used by several goroutines and processes.
type Queue interface {
	// Submit enqueues jobs and writes their rows, all in one transaction. It returns catalog.ErrExists where a row of
	// such an id and attempt is there.
	Submit(ctx context.Context, jobs []Submission) error
	// List returns jobs, those that were submitted last first; ended ones only where asked for. limit 0 means all.
	List(ctx context.Context, ended bool, limit int) ([]Entry, error)
	// Get returns the last job of an analysis, or catalog.ErrNotFound.
	Get(ctx context.Context, id string) (Entry, error)
	// Cancel cancels a job that waits, with its row, in one transaction; it asks the worker of one that runs to end it,
	// and returns the job as it was before. One that has ended is catalog.ErrEnded, one that never was catalog.ErrNotFound.
	Cancel(ctx context.Context, id string) (Entry, error)
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

// ErrDone is returned by Settle for a job of which nothing is left to do.
var ErrDone = errors.New("done already")

// Later says that a job finds no room here.
type Later struct{ After time.Duration }

func (l *Later) Error() string { return fmt.Sprintf("no room for it; another try in %v", l.After) }

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
	// otherwise is catalog.ErrEnded: another worker has taken the job.
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
	Jobs int // at once
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
	Errors      []string      `json:"errors"` // why it was to come again, the oldest first
}
