package riverqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// selectDepth counts jobs by queue; NULL is the row of queues that are not named. Classes with a worker are named
// first, so that a submitter who makes up classes does not displace them; they also have a row if they have no job. A
// job returned for lack of room has a scheduled time, but counts as waiting; so does one whose time has passed, which
// River handles every few seconds. A job is unplaced if the last worker that returned it can never run it and no worker
// that can has returned it within fitsFor.
const selectDepth = `WITH jobs AS (SELECT queue, state,
		state IN ('available', 'pending', 'scheduled') AND scheduled_at > now() AND NOT metadata ? 'snoozes' AS later,
		state IN ('available', 'pending', 'scheduled') AND (scheduled_at <= now() OR metadata ? 'snoozes') AS waits,
		coalesce(note -> 'unfit' = 'true', false)
			AND coalesce(note -> 'fits' < to_jsonb(extract(epoch FROM now() - interval '` + fitsFor + `')), true) AS unplaced,
		coalesce(to_timestamp(CASE jsonb_typeof(note -> 'since') WHEN 'number' THEN (note ->> 'since')::float8 END),
			CASE WHEN scheduled_at > now() THEN attempted_at ELSE scheduled_at END, created_at) AS since
		FROM (SELECT *, CASE WHEN metadata -> '` + returned + `' ->> 'taken' IS NOT DISTINCT FROM extract(epoch FROM attempted_at)::text
			THEN metadata -> '` + returned + `' END AS note FROM scidex_oci.river_job
			WHERE state IN (` + open + `) AND kind = '` + kind + `') j),
	served AS (SELECT name AS queue FROM scidex_oci.river_queue WHERE updated_at > now() - interval '30 min'),
	named AS (SELECT queue FROM (SELECT queue FROM jobs UNION SELECT queue FROM served) q
		WHERE char_length(queue) <= 49 AND queue ~ '^` + defaultQueue + `(-[a-z0-9]+([_-][a-z0-9]+)*)?$' AND queue <> '` + classPrefix + queue.DefaultClass + `'
		ORDER BY queue IN (SELECT queue FROM served) DESC, queue COLLATE "C" LIMIT $1)
	SELECT named.queue,
		count(*) FILTER (WHERE waits AND NOT unplaced),
		count(*) FILTER (WHERE waits AND unplaced),
		count(*) FILTER (WHERE state = 'retryable'),
		count(*) FILTER (WHERE later),
		count(*) FILTER (WHERE state = 'running'),
		coalesce(extract(epoch FROM now() - min(since) FILTER (WHERE waits)), 0)::float8
	FROM jobs FULL JOIN named USING (queue) GROUP BY named.queue ORDER BY named.queue COLLATE "C" NULLS LAST`

// fitsFor is for how long a worker that could run a job, but had no room, is assumed to exist.
const fitsFor = "10 min"

// Depth counts the jobs that have not ended.
func (q *Queue) Depth(ctx context.Context) (classes []queue.ClassDepth, err error) {
	err = q.catalog.Reading(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, selectDepth, queue.NamedClasses)
		if err != nil {
			return err
		}
		classes, err = pgx.CollectRows(rows, scanDepth)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count the queue: %w", err)
	}
	return classes, nil
}

func scanDepth(row pgx.CollectableRow) (d queue.ClassDepth, err error) {
	var name *string
	var oldest float64
	err = row.Scan(&name, &d.Waiting, &d.Unplaced, &d.Retrying, &d.Scheduled, &d.Running, &oldest)
	d.Class = queue.OtherClasses
	if name != nil {
		d.Class = classOf(*name)
	}
	d.Oldest = max(0, time.Duration(oldest*float64(time.Second)))
	return d, err
}
