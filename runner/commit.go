package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/judge"
)

// commitPatience is how long a commit is tried again where what stands in its way may pass by itself.
const commitPatience = 60 * time.Second

// commit writes the run's end and its outputs in one transaction. A second signal of the user's ends its patience.
func (e *execution) commit(ctx context.Context, v judge.Outcome) error {
	if err := e.end(v); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer e.allowGivingUp(cancel)()
	patience := e.CommitPatience
	if patience == 0 {
		patience = commitPatience
	}
	next, err := e.entries.read()
	if err == nil {
		err = keepBlobs(ctx, e.Host, patience, e.run, next)
	}
	if err != nil {
		return err
	}
	return insist(ctx, until(time.Now().Add(patience)), func() error {
		next, err := e.entries.read() // a listing that was handed out is gone
		if err != nil {
			return err
		}
		return e.Catalog.Commit(ctx, e.run, next)
	})
}

// end notes in the run how it ended.
func (e *execution) end(v judge.Outcome) (err error) {
	e.run.State, e.run.Reason, e.run.Message = v.State, string(v.Reason), v.Message
	e.run.ExitCode, e.run.Signal = v.ExitCode, v.Signal
	if e.run.FinishedAt.IsZero() {
		e.run.FinishedAt = time.Now().UTC()
	}
	e.run.Events = e.events(v)
	if e.run.Report, err = json.Marshal(e.report); err != nil {
		return err
	}
	e.run.Place, err = json.Marshal(e.place)
	return err
}

// until is patience up to a deadline.
func until(deadline time.Time) (patient func() bool) {
	return func() bool { return time.Now().Before(deadline) }
}

// insist calls commit until it succeeds, fails for good, or patience or ctx ends.
func insist(ctx context.Context, patient func() bool, commit func() error) error {
	var last error
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := commit()
		if ctx.Err() != nil && err != nil {
			return givenUp(ctx, last)
		}
		if err == nil || !mayPass(err) || !patient() {
			return err
		}
		last = err
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return givenUp(ctx, last)
		}
	}
}

// mayPass reports whether another try may help against an error of the catalog or of the blob store.
func mayPass(err error) bool { return catalog.MayPass(err) || errors.Is(err, blob.ErrPasses) }

func givenUp(ctx context.Context, last error) error {
	if last == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w: %w", context.Cause(ctx), last)
}

// slowCommit is when a commit takes so long that signals are its own: what comes before is the hook's to hear.
const slowCommit = time.Second

// allowGivingUp lets the user end the wait for a catalog: the first signal after a run says what will be, the second
// gives up. What it returns ends the listening.
func (e *execution) allowGivingUp(giveUp context.CancelCauseFunc) (done func()) {
	finished := make(chan struct{})
	var heard sync.WaitGroup
	heard.Go(func() {
		select {
		case <-finished:
			return
		case <-time.After(slowCommit):
		}
		for asked := false; ; asked = true {
			select {
			case <-finished:
				return
			case s := <-e.request.Stop:
				if asked {
					giveUp(fmt.Errorf("given up at %s", s.Name))
					return
				}
				e.Log.Warn("run " + e.run.ID + " has ended and its result is being committed; a second signal keeps it for a later command")
			}
		}
	})
	return func() { close(finished); heard.Wait() }
}
