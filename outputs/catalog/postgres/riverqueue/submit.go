package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/postgres"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// Submit enqueues jobs with their rows.
func (q *Queue) Submit(ctx context.Context, jobs []queue.Submission) (placed []queue.Placed, err error) {
	err = q.catalog.Within(ctx, func(ctx context.Context, tx pgx.Tx) error {
		placed, err = q.submit(ctx, tx, jobs)
		return err
	})
	if postgres.Unknown(err) {
		return nil, fmt.Errorf("submit: %w; all of it is in the queue or nothing, see \"scidex-oci queue ls\"", err)
	}
	if err != nil {
		return nil, fmt.Errorf("submit: %w", err)
	}
	return placed, nil
}

func (q *Queue) submit(ctx context.Context, tx pgx.Tx, jobs []queue.Submission) (placed []queue.Placed, err error) {
	var now time.Time // the database's, since hosts may disagree
	if err := tx.QueryRow(ctx, `SELECT now()`).Scan(&now); err != nil {
		return nil, err
	}
	all := make([]args, len(jobs))
	for i, j := range jobs {
		if all[i], err = argsOf(j); err != nil {
			return nil, err
		}
	}
	if err := lockUnique(ctx, tx, jobs, all); err != nil {
		return nil, err
	}
	var params []river.InsertManyParams
	here := map[string]queue.Placed{} // by digest
	for i, j := range jobs {
		own := queue.Placed{Key: j.Run.Key, State: outcome.Queued}
		if j.Unique {
			other, found := here[all[i].Digest]
			if !found {
				other, found, err = same(ctx, tx, all[i].Digest)
			}
			if err != nil {
				return nil, err
			}
			if found {
				other.Other = true
				placed = append(placed, other)
				continue
			}
			here[all[i].Digest] = own
		}
		if err := noneOpen(ctx, tx, j.Run.Key); err != nil {
			return nil, err
		}
		if err := postgres.Insert(ctx, tx, j.Run); err != nil {
			return nil, err
		}
		placed = append(placed, own)
		params = append(params, river.InsertManyParams{Args: all[i], InsertOpts: optionsOf(j, now)})
	}
	if len(params) > 0 {
		_, err = q.insert.InsertManyTx(ctx, tx, params)
	}
	return placed, err
}

// noneOpen refuses a further attempt while the previous attempt's job is open, that is, between two attempts. Each of two
// jobs would take the other's run for that of its own dead worker. submit() in SQL does the same.
func noneOpen(ctx context.Context, tx pgx.Tx, key catalog.Key) error {
	if key.Attempt == 1 {
		return nil
	}
	var is bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM scidex_oci.river_job
		WHERE kind = '`+kind+`' AND state IN (`+open+`) AND args @> jsonb_build_object('id', $1::text))`, key.ID).Scan(&is)
	if err == nil && is {
		err = fmt.Errorf("id %q: its job is in the queue still, and the next attempt comes by itself; \"scidex-oci queue cancel %s\" ends that", key.ID, key.ID)
	}
	return err
}

// optionsOf are a job's in River.
func optionsOf(j queue.Submission, now time.Time) *river.InsertOpts {
	o := &river.InsertOpts{Queue: queueOf(j.Class), Priority: j.Priority, MaxAttempts: maxTries}
	if j.At.After(now) {
		o.ScheduledAt = j.At
	}
	if at := now.Add(j.After); j.After > 0 && at.After(o.ScheduledAt) {
		o.ScheduledAt = at
	}
	return o
}

// lockUnique locks out other submissions of the same unique analyses until the transaction ends. All take these locks in one
// order.
func lockUnique(ctx context.Context, tx pgx.Tx, jobs []queue.Submission, all []args) error {
	var digests []string
	for i, j := range jobs {
		if j.Unique {
			digests = append(digests, all[i].Digest)
		}
	}
	slices.Sort(digests)
	for _, digest := range slices.Compact(digests) {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('scidex_oci/unique/' || $1::text, 0))`, digest); err != nil {
			return err
		}
	}
	return nil
}

// same finds a waiting or running analysis of a digest, not canceled.
func same(ctx context.Context, tx pgx.Tx, digest string) (p queue.Placed, found bool, err error) {
	err = tx.QueryRow(ctx, `SELECT r.id, r.attempt, r.state
		FROM scidex_oci.river_job j CROSS JOIN LATERAL (SELECT id, attempt, state FROM scidex_oci.analysis_run
			WHERE analysis_run.id = j.args ->> 'id' ORDER BY attempt DESC LIMIT 1) r
		WHERE j.kind = '`+kind+`' AND j.state IN (`+open+`) AND j.args @> jsonb_build_object('digest', $1::text)
			AND NOT j.metadata ? 'cancel_attempted_at' AND r.state IN ('queued', 'running')
		ORDER BY j.id LIMIT 1`, digest).Scan(&p.Key.ID, &p.Key.Attempt, &p.State)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, err
}
