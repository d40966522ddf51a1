package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

var dialect = relational.Dialect{
	Moment:   timeText,
	Text:     func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }, // the columns are text in every dialect
	Holds:    func(string) bool { return true },                                 // it compares any bytes
	Contains: contains,
	OfAction: ofAction,
	AddLabel: addLabel,
	Outputs:  byRun, OutputsOfDigest: byDigest,
	Digests: selectDigests,
	ByPath:  `path`, OfPath: `path = $3`,
	EventOrder: `rowid`,
}

// timeText returns NULL for the zero time.
func timeText(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(relational.Layout)
}

// contains searches the id first: it is in the index by creation, while a request must be read and parsed.
const contains = `(instr(id, %s) > 0 OR instr(CASE WHEN json_extract(request, '$.script') <> ''
	THEN substr(json_extract(request, '$.script'), length(rtrim(json_extract(request, '$.script'), replace(json_extract(request, '$.script'), '/', ''))) + 1)
		|| coalesce(' ' || (SELECT group_concat(value, ' ') FROM json_each(request, '$.args')), '')
	ELSE (SELECT group_concat(value, ' ') FROM json_each(request, '$.command')) END, %s) > 0)`

// ofAction has the expression and the condition of the index analysis_run_action, verbatim.
const ofAction = `json_extract(report, '$.action_id') IS NOT NULL AND json_extract(report, '$.action_id') = %s`

// CROSS JOIN keeps the order of its tables (SQLite, "The Query Optimizer Overview"). byRun reads runs by their index, newest
// first, and sorts the outputs of one run at a time. byDigest finds the few outputs of a digest by their index.
const (
	byRun    = `analysis_run r CROSS JOIN analysis_output o ON o.id = r.id AND o.attempt = r.attempt`
	byDigest = `analysis_output o CROSS JOIN analysis_run r ON r.id = o.id AND r.attempt = o.attempt`
)

// selectDigests checks for each output whether its run is one of the few whose contents were dropped. SQLite's own plan
// looks each run up in the table, which is as large as all documents of all runs. Both halves are read from their indexes in order.
const selectDigests = `SELECT sha256 FROM analysis_output o WHERE sha256 IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM analysis_run r INDEXED BY analysis_run_outputs_removed WHERE r.id = o.id AND r.attempt = o.attempt AND r.outputs_removed_at IS NOT NULL)
	UNION SELECT sha256 FROM run_blob ORDER BY sha256`

// few is the maximum number of runs looked up one by one and sorted.
const few = 1000

// A query by labels: if few runs have one, those are looked up and sorted; if many have it, runs are read newest first and
// filtered, so that the newest fifty of a million cost what fifty of a hundred do.
const (
	ofFew  = `(r.id, r.attempt) IN (SELECT id, attempt FROM run_label WHERE key = %s AND value = %s)`
	ofMany = `(SELECT value FROM run_label n WHERE n.id = r.id AND n.attempt = r.attempt AND n.key = %s) = %s`
)

func addLabel(ctx context.Context, from relational.Reader, where *relational.Where, key, value string) error {
	term := ofFew
	err := from.Query(ctx, func(row relational.Row) (bool, error) {
		var many bool
		err := row.Scan(&many)
		if many {
			term = ofMany
		}
		return true, err
	}, fmt.Sprintf(`SELECT count(*) > %d FROM (SELECT 1 FROM run_label WHERE key = $1 AND value = $2 LIMIT %d)`, few, few+1), key, value)
	where.Add(term, key, value)
	return err
}
