package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// selectRun reads a whole run, with its labels and blobs, in one row.
const selectRun = `SELECT id, attempt, state, coalesce(reason, ''), coalesce(message, ''), coalesce(exit_code, 0), coalesce(signal, ''),
	created_at, started_at, finished_at, request::text, place::text, report::text,
	host, boot_id, tool_version, outputs_total, rejected_total, pinned, outputs_removed_at,
	(SELECT coalesce(json_object_agg(key, value), '{}')::text FROM scidex_oci.run_label l WHERE l.id = r.id AND l.attempt = r.attempt),
	ARRAY(SELECT sha256 FROM scidex_oci.run_blob b WHERE b.id = r.id AND b.attempt = r.attempt ORDER BY sha256)
	FROM scidex_oci.analysis_run r`

// newestFirst orders runs of one millisecond consistently.
const newestFirst = ` ORDER BY created_at DESC, id DESC, attempt DESC`

// List returns runs, the newest first.
func (c *Catalog) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	var runs []catalog.Run
	sql, args := listing(filter)
	err := c.readAll(ctx, func(row pgx.Row) (bool, error) {
		run, err := scanRun(row)
		runs = append(runs, run)
		return true, err
	}, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", c.explain(err))
	}
	return runs, nil
}

// listing is the query for a filter, and its arguments.
func listing(filter catalog.Filter) (sql string, args []any) {
	where := conditions(filter)
	sql = selectRun + where.String() + newestFirst
	if filter.Limit > 0 {
		sql += ` LIMIT ` + where.Bind(filter.Limit)
	}
	return sql, where.Args
}

// newWhere is a clause without terms. Parameters are numbered ($1); nothing in the catalog contains what text replaces.
func newWhere() *row.Where {
	return &row.Where{Parameter: func(n int) string { return "$" + strconv.Itoa(n) }, Moment: moment, Holds: isText, Contains: contains}
}

// contains searches the id first: a request has to be parsed.
const contains = `(strpos(id, %s) > 0 OR strpos(CASE WHEN request ->> 'script' <> ''
	THEN substring(request ->> 'script' FROM '[^/]*$') || coalesce(' ' || CASE json_typeof(request -> 'args') WHEN 'array'
		THEN (SELECT string_agg(word, ' ' ORDER BY n) FROM json_array_elements_text(request -> 'args') WITH ORDINALITY w (word, n)) END, '')
	ELSE CASE json_typeof(request -> 'command') WHEN 'array'
		THEN (SELECT string_agg(word, ' ' ORDER BY n) FROM json_array_elements_text(request -> 'command') WITH ORDINALITY w (word, n)) END END, %s) > 0)`

func conditions(filter catalog.Filter) *row.Where {
	where := newWhere()
	where.Runs(filter)
	if filter.ActionID != "" {
		where.Add(`action_id = %s`, filter.ActionID)
	}
	if filter.Last {
		where.Add(`NOT EXISTS (SELECT 1 FROM scidex_oci.analysis_run n WHERE n.id = r.id AND n.attempt > r.attempt)`)
	}
	addLabels(where, filter.Labels)
	return where
}

// addLabels adds that a run has all of the labels.
func addLabels(where *row.Where, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		where.Add(`(r.id, r.attempt) IN (SELECT id, attempt FROM scidex_oci.run_label
			WHERE key = %s AND left(value, 500) = left(%s, 500) AND value = %s)`, key, value, value)
	}
}

// scanRun reads a row of selectRun.
func scanRun(row pgx.Row) (catalog.Run, error) {
	var run catalog.Run
	var created, started, finished, removed *time.Time
	var request, place, report *string
	var labels string
	err := row.Scan(&run.ID, &run.Attempt, &run.State, &run.Reason, &run.Message, &run.ExitCode, &run.Signal,
		&created, &started, &finished, &request, &place, &report,
		&run.Host, &run.BootID, &run.ToolVersion, &run.OutputsTotal, &run.RejectedTotal, &run.Pinned, &removed, &labels, &run.Blobs)
	if errors.Is(err, pgx.ErrNoRows) {
		return catalog.Run{}, catalog.ErrNotFound
	}
	if err != nil {
		return catalog.Run{}, err
	}
	run.CreatedAt, run.StartedAt, run.FinishedAt = momentOf(created), momentOf(started), momentOf(finished)
	run.OutputsRemovedAt = momentOf(removed)
	run.Request, run.Place, run.Report = documentOf(request), documentOf(place), documentOf(report)
	return run, json.Unmarshal([]byte(labels), &run.Labels)
}
