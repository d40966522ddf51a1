package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// selectRun reads a whole run, with its labels and blobs, in one row.
const selectRun = `SELECT id, attempt, state, coalesce(reason, ''), coalesce(message, ''), coalesce(exit_code, 0), coalesce(signal, ''),
	created_at, coalesce(started_at, ''), coalesce(finished_at, ''),
	coalesce(request, ''), coalesce(place, ''), coalesce(report, ''),
	host, boot_id, tool_version, outputs_total, rejected_total, pinned, coalesce(outputs_removed_at, ''),
	(SELECT json_group_object(key, value) FROM run_label l WHERE l.id = r.id AND l.attempt = r.attempt),
	(SELECT json_group_array(sha256) FROM run_blob b WHERE b.id = r.id AND b.attempt = r.attempt)
	FROM analysis_run r`

// newestFirst orders runs of one millisecond consistently.
const newestFirst = ` ORDER BY created_at DESC, id DESC, attempt DESC`

// List returns runs, the newest first.
func (c *Catalog) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	runs, err := c.list(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", explain(err))
	}
	return runs, nil
}

func (c *Catalog) list(ctx context.Context, filter catalog.Filter) (runs []catalog.Run, err error) {
	query, args, err := c.listing(ctx, filter)
	if err != nil {
		return nil, err
	}
	rows, err := c.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		run, err := scanRun(rows)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, rows.Err()
}

// newWhere is a clause without terms.
func newWhere() *row.Where {
	return &row.Where{
		Parameter: func(int) string { return "?" }, Moment: timeText,
		Holds:    func(string) bool { return true }, // it compares any bytes
		Contains: contains,
	}
}

// contains searches the id first: it is in the index by creation, while a request has to be read and parsed.
const contains = `(instr(id, %s) > 0 OR instr(CASE WHEN json_extract(request, '$.script') <> ''
	THEN substr(json_extract(request, '$.script'), length(rtrim(json_extract(request, '$.script'), replace(json_extract(request, '$.script'), '/', ''))) + 1)
		|| coalesce(' ' || (SELECT group_concat(value, ' ') FROM json_each(request, '$.args')), '')
	ELSE (SELECT group_concat(value, ' ') FROM json_each(request, '$.command')) END, %s) > 0)`

// few is the maximum number of runs looked up one by one and sorted.
const few = 1000

// A query by labels: if few runs have one, those are looked up and sorted; if many have it, runs are read newest first and
// filtered, so that the newest fifty of a million cost what fifty of a hundred do.
const (
	ofFew  = `(r.id, r.attempt) IN (SELECT id, attempt FROM run_label WHERE key = %s AND value = %s)`
	ofMany = `(SELECT value FROM run_label n WHERE n.id = r.id AND n.attempt = r.attempt AND n.key = %s) = %s`
)

// isLast has the primary key say that there is no later attempt.
const isLast = `NOT EXISTS (SELECT 1 FROM analysis_run n WHERE n.id = r.id AND n.attempt > r.attempt)`

// ofAction has the expression and the condition of the index analysis_run_action, verbatim.
const ofAction = `json_extract(report, '$.action_id') IS NOT NULL AND json_extract(report, '$.action_id') = %s`

// listing is the query for a filter, and its arguments.
func (c *Catalog) listing(ctx context.Context, filter catalog.Filter) (string, []any, error) {
	where := newWhere()
	where.Runs(filter)
	if filter.ActionID != "" {
		where.Add(ofAction, filter.ActionID)
	}
	if filter.Last {
		where.Add(isLast)
	}
	if err := c.addLabels(ctx, where, filter.Labels); err != nil {
		return "", nil, err
	}
	query := selectRun + where.String() + newestFirst
	if filter.Limit > 0 {
		query += ` LIMIT ` + where.Bind(filter.Limit)
	}
	return query, where.Args, nil
}

// addLabels adds that a run has all of the labels.
func (c *Catalog) addLabels(ctx context.Context, where *row.Where, labels map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value, term := labels[key], ofFew
		many, err := c.many(ctx, key, value)
		if err != nil {
			return err
		}
		if many {
			term = ofMany
		}
		where.Add(term, key, value)
	}
	return nil
}

// many reports whether more than a few runs have a label.
func (c *Catalog) many(ctx context.Context, key, value string) (many bool, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT count(*) > ? FROM (SELECT 1 FROM run_label WHERE key = ? AND value = ? LIMIT ?)`,
		few, key, value, few+1).Scan(&many)
	return many, err
}

// scanRun reads a row of selectRun.
func scanRun(from interface{ Scan(...any) error }) (catalog.Run, error) {
	var run catalog.Run
	var created, started, finished, request, place, report, labels, blobs, removed string
	err := from.Scan(&run.ID, &run.Attempt, &run.State, &run.Reason, &run.Message, &run.ExitCode, &run.Signal,
		&created, &started, &finished, &request, &place, &report,
		&run.Host, &run.BootID, &run.ToolVersion, &run.OutputsTotal, &run.RejectedTotal, &run.Pinned, &removed, &labels, &blobs)
	if err != nil {
		return run, err
	}
	run.Request, run.Place, run.Report = row.Document(request), row.Document(place), row.Document(report)
	var errs [6]error
	run.CreatedAt, errs[0] = parseTime(created)
	run.StartedAt, errs[1] = parseTime(started)
	run.FinishedAt, errs[2] = parseTime(finished)
	errs[3] = json.Unmarshal([]byte(labels), &run.Labels)
	errs[4] = json.Unmarshal([]byte(blobs), &run.Blobs)
	run.OutputsRemovedAt, errs[5] = parseTime(removed)
	slices.Sort(run.Blobs)
	return run, errors.Join(errs[:]...)
}
