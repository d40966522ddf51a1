package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// commit judges a run and commits its end.
func (r *run) commit(ctx context.Context, end commit.End) (commit.Final, error) {
	defer r.span("commit")()
	report := &end.Ended.Report
	if !end.Ended.Outer {
		report.Warnings = append(report.Warnings, limits.Unheld(report.Enforced)...)
	}
	report.Warnings = append(report.Warnings, r.task.Observer.Warnings()...)
	now := r.space.Date(time.Now())
	final, err := commit.Judge(r.now(end), now)
	if err == nil && r.host.Sign.Given() {
		final, err = r.sign(ctx, end, final, now)
	}
	r.space.WaitNoted()
	if err != nil {
		return final, err
	}
	return final, r.task.Suspender.Steady(func() error {
		return r.stores().Run(ctx, final.Row, end.Harvest.Entries, r.task.Request.Stop)
	})
}

func (r *run) stores() commit.Stores {
	return commit.Stores{Ledger: r.ledger, Catalog: r.host.Catalog, Blobs: r.host.Blobs, Timeout: r.host.CommitTimeout, Log: r.host.Log}
}

// sign adds the signed statement. A run that failed before it had a place for files gets one.
func (r *run) sign(ctx context.Context, end commit.End, final commit.Final, now time.Time) (commit.Final, error) {
	defer r.span("sign the statement")()
	var err error
	if r.space.Ingest == nil {
		r.space.Ingest, err = r.host.Blobs.NewIngest(r.space.Run.ID)
	}
	if err != nil {
		return commit.Unsigned(r.now(end), final, err, now)
	}
	return commit.Sign(ctx, commit.Signing{Key: r.host.Sign, Into: r.space.Ingest}, r.now(end), final, now)
}

// now is an end with what the workspace is at this moment.
func (r *run) now(end commit.End) commit.End {
	end.Location, end.WorkGone = r.space.Location, r.space.WorkGone()
	return end
}

// keep keeps for later what could not be committed for the reason why, and returns the result that says so.
func (r *run) keep(ctx context.Context, end commit.End, final commit.Final, why error) (result.Result, error) {
	lost, err := r.keepOutcome(ctx, end, final, why)
	final.Report.Warnings = append(final.Report.Warnings, lost...)
	r.space.Warn(r.release(end.Harvest.Entries))
	r.space.Warn(r.space.State.Close()) // gc finds the directory, whole, by the state file
	signal := final.Outcome.Signal
	final.Outcome = outcome.Fault(outcome.ReasonCommit, result.Sentence(err))
	final.Outcome.Signal = signal
	return r.result(end, final), err
}

// keepOutcome writes a pending record, and returns the message for the user, with warnings where it had to keep the working
// directory instead.
func (r *run) keepOutcome(ctx context.Context, end commit.End, final commit.Final, why error) (lost []string, told error) {
	path, then := pending.Path(r.host, r.space.Run.Key), `the next command or "scidex-oci gc" commits it`
	if errors.Is(why, catalog.ErrEnded) {
		path, then = path+pending.Refused, "and stays there"
	}
	told = fmt.Errorf("the result could not be committed: %w; it is kept in %q, %s", why, path, then)
	next, err := end.Harvest.Entries.Read()
	if err == nil {
		// In another root no command looks for it, and in another store its blobs are not.
		err = cmp.Or(r.space.State.Stands(), r.host.Blobs.Stands())
	}
	if err == nil {
		err = record.Keep(path, pending.Record{V: 1, Catalog: r.space.Location.Catalog, Message: told.Error(), Run: final.Row}, next)
	}
	if err == nil {
		return nil, told
	}
	return r.keepWork(ctx, fmt.Errorf("the result could not be committed: %w; nor could it be kept for later: %w", why, err))
}

// keepWork is the last resort for a run whose end could be neither committed nor kept, for the reasons why: it keeps the
// working directory. It returns the user's message, and warnings about what of a /work in memory it could not keep.
func (r *run) keepWork(ctx context.Context, why error) (lost []string, told error) {
	r.space.LeaveIngest() // its content cannot be made again
	if r.space.Dir == nil {
		return nil, why
	}
	err := r.space.Dir.Promise()
	if err == nil && r.task.Plan.InMemory() {
		lost, err = r.space.Clean(ctx, true, r.task.Plan.Links())
	}
	if err != nil {
		return lost, fmt.Errorf("%w; what the analysis wrote is in %q, which could not be marked, so copy it before anything is removed: %w", why, r.space.Location.Dir, err)
	}
	return lost, fmt.Errorf("%w; what the analysis wrote stays in %q", why, r.space.Location.Dir)
}
