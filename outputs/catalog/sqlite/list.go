package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// selectRun reads a whole run, with its labels and blobs, in one row.
const selectRun = `SELECT id, attempt, state, coalesce(reason, ''), coalesce(message, ''), coalesce(exit_code, 0), coalesce(signal, ''),
	created_at, coalesce(started_at, ''), coalesce(finished_at, ''),
	coalesce(request, ''), coalesce(place, ''), coalesce(report, ''),
	host, boot_id, tool_version, outputs_total, rejected_total, pinned, coalesce(outputs_removed_at, ''),
	(SELECT json_group_object(key, value) FROM run_label l WHERE l.id = r.id AND l.attempt = r.attempt),
	(SELECT json_group_array(sha256) FROM run_blob b WHERE b.id = r.id AND b.attempt = r.attempt)
	FROM analysis_run r`

// newestFirst names runs of one millisecond in an order that is at least always the same.
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
	where := conditions(filter)
	query := selectRun + where.String() + newestFirst
	if filter.Limit > 0 {
		query, where.args = query+` LIMIT ?`, append(where.args, filter.Limit)
	}
	rows, err := c.db.QueryContext(ctx, query, where.args...)
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

// clause collects what a row must satisfy.
type clause struct {
	terms []string
	args  []any
}

func (c *clause) add(term string, args ...any) {
	c.terms, c.args = append(c.terms, term), append(c.args, args...)
}

// in adds that a column has one of some values, where there are any.
func in[T ~string](c *clause, column string, values []T) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, value := range values {
		args[i] = string(value)
	}
	c.add(column+` IN (?`+strings.Repeat(`, ?`, len(values)-1)+`)`, args...)
}

func (c *clause) String() string {
	if len(c.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(c.terms, ` AND `)
}

func conditions(filter catalog.Filter) *clause {
	where := &clause{}
	if !filter.Since.IsZero() {
		where.add(`created_at >= ?`, timeText(filter.Since))
	}
	if !filter.Until.IsZero() {
		where.add(`created_at < ?`, timeText(filter.Until))
	}
	if filter.Host != "" {
		where.add(`host = ?`, filter.Host)
	}
	if filter.ID != "" {
		where.add(`id = ?`, filter.ID)
	}
	in(where, `state`, filter.States)
	in(where, `reason`, filter.Reasons)
	for _, key := range slices.Sorted(maps.Keys(filter.Labels)) {
		where.add(`(id, attempt) IN (SELECT id, attempt FROM run_label WHERE key = ? AND value = ?)`, key, filter.Labels[key])
	}
	return where
}

// scanRun reads a row of selectRun.
func scanRun(row interface{ Scan(...any) error }) (catalog.Run, error) {
	var run catalog.Run
	var created, started, finished, request, place, report, labels, blobs, removed string
	err := row.Scan(&run.ID, &run.Attempt, &run.State, &run.Reason, &run.Message, &run.ExitCode, &run.Signal,
		&created, &started, &finished, &request, &place, &report,
		&run.Host, &run.BootID, &run.ToolVersion, &run.OutputsTotal, &run.RejectedTotal, &run.Pinned, &removed, &labels, &blobs)
	if err != nil {
		return run, err
	}
	run.Request, run.Place, run.Report = document(request), document(place), document(report)
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

func document(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
