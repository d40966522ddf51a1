package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// selectUsage parses each document once, which is nearly all that it costs. Of a document with an escape that text cannot hold
// PostgreSQL says nothing but an error, which would be the error of all.
const selectUsage = `SELECT coalesce((CASE WHEN ` + parsed + ` THEN r.report END -> 'usage')::text, ''),
	coalesce(q.memory, ''), coalesce(q.cpus, ''), coalesce(q.timeout, ''), coalesce(r.reason, ''), %s
	FROM scidex_oci.analysis_run r
	LEFT JOIN LATERAL json_to_record(CASE WHEN json_typeof(r.request) = 'object' AND ` + parsed + ` THEN r.request END)
		AS q(memory text, cpus text, timeout text) ON true`

// parsed is true of runs whose documents have no NUL and no surrogates, which may be lone.
const parsed = `strpos(lower(concat(r.report, r.request)), '\u0000') = 0 AND strpos(lower(concat(r.report, r.request)), '\ud') = 0`

// Usage streams what runs that have ended asked for and used.
func (c *Catalog) Usage(ctx context.Context, filter catalog.Filter, label string, yield func(catalog.Usage) bool) error {
	sql, args := usageQuery(filter, label)
	err := c.readAll(ctx, func(row pgx.Row) (bool, error) {
		u, err := scanUsage(row)
		return err == nil && yield(u), err
	}, sql, args...)
	if err != nil {
		return fmt.Errorf("usage of runs: %w", c.explain(err))
	}
	return nil
}

func usageQuery(filter catalog.Filter, label string) (string, []any) {
	where := conditions(filter)
	where.Add(`r.state IN ('complete', 'failed', 'canceled', 'error', 'lost')`)
	value := `NULL`
	if label != "" && isText(label) {
		value = `(SELECT l.value FROM scidex_oci.run_label l WHERE l.id = r.id AND l.attempt = r.attempt AND l.key = ` + where.Bind(label) + `)`
	}
	return fmt.Sprintf(selectUsage, value) + where.String(), where.Args
}

func scanUsage(from pgx.Row) (catalog.Usage, error) {
	var texts row.UsageTexts
	var used string
	var label *string
	if err := from.Scan(&used, &texts.Memory, &texts.CPUs, &texts.Timeout, &texts.Reason, &label); err != nil {
		return catalog.Usage{}, err
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal([]byte(used), &values) // what is no object has no values
	texts.WallMS, texts.CPUMS, texts.MemoryPeak = string(values["wall_ms"]), string(values["cpu_ms"]), string(values["memory_peak_bytes"])
	u := texts.Usage()
	if label != nil {
		u.Label, u.Labelled = *label, true
	}
	return u, nil
}
