package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// selectRun reads a whole run, with its labels and blobs, in one row.
const selectRun = `SELECT id, attempt, state, coalesce(reason, ''), coalesce(message, ''), coalesce(exit_code, 0), coalesce(signal, ''),
	created_at, started_at, finished_at, request::text, place::text, report::text,
	host, boot_id, tool_version, outputs_total, rejected_total, pinned, outputs_removed_at,
	(SELECT coalesce(json_object_agg(key, value), '{}')::text FROM scidex_oci.run_label l WHERE l.id = r.id AND l.attempt = r.attempt),
	ARRAY(SELECT sha256 FROM scidex_oci.run_blob b WHERE b.id = r.id AND b.attempt = r.attempt ORDER BY sha256)
	FROM scidex_oci.analysis_run r`

// newestFirst names runs of one millisecond in an order that is at least always the same.
const newestFirst = ` ORDER BY created_at DESC, id DESC, attempt DESC`

// List returns runs, the newest first.
func (c *Catalog) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	var runs []catalog.Run
	where := conditions(filter)
	sql := selectRun + where.String() + newestFirst
	if filter.Limit > 0 {
		sql += ` LIMIT ` + where.bind(filter.Limit)
	}
	err := c.readAll(ctx, func(row pgx.Row) (bool, error) {
		run, err := scanRun(row)
		runs = append(runs, run)
		return true, err
	}, sql, where.args...)
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", c.explain(err))
	}
	return runs, nil
}

// clause collects what a row must satisfy.
type clause struct {
	terms []string
	args  []any
}

// bind adds an argument and returns its name.
func (c *clause) bind(arg any) string {
	c.args = append(c.args, arg)
	return fmt.Sprintf("$%d", len(c.args))
}

// add adds a term whose %s are the arguments. Strings that cannot be in the catalog are equal to nothing there.
func (c *clause) add(term string, args ...any) {
	names := make([]any, len(args))
	for i, arg := range args {
		if s, ok := arg.(string); ok && !isText(s) {
			c.terms = append(c.terms, "false")
			return
		}
		names[i] = c.bind(arg)
	}
	c.terms = append(c.terms, fmt.Sprintf(term, names...))
}

// in adds that a column has one of some values, where there are any.
func in[T ~string](c *clause, column string, values []T) {
	if len(values) == 0 {
		return
	}
	var known []string
	for _, value := range values {
		if isText(string(value)) {
			known = append(known, string(value))
		}
	}
	c.add(column+` = ANY (%s::text[])`, known)
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
		where.add(`created_at >= %s`, moment(filter.Since))
	}
	if !filter.Until.IsZero() {
		where.add(`created_at < %s`, moment(filter.Until))
	}
	if filter.Host != "" {
		where.add(`host = %s`, filter.Host)
	}
	if filter.ID != "" {
		where.add(`id = %s`, filter.ID)
	}
	in(where, `state`, filter.States)
	in(where, `reason`, filter.Reasons)
	for _, key := range slices.Sorted(maps.Keys(filter.Labels)) {
		value := filter.Labels[key]
		where.add(`(id, attempt) IN (SELECT id, attempt FROM scidex_oci.run_label
			WHERE key = %s AND left(value, 500) = left(%s, 500) AND value = %s)`, key, value, value)
	}
	return where
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
	run.Request, run.Place, run.Report = document(request), document(place), document(report)
	return run, json.Unmarshal([]byte(labels), &run.Labels)
}
