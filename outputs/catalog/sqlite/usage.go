package sqlite

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// hourCreated is the expression of the index analysis_run_usage, verbatim: else SQLite reads whole rows and parses their documents.
const hourCreated = `substr(created_at, 1, 13)`

// packedUsage is the text of a run for relational.Usage, but the label.
const packedUsage = `iif(typeof(json_extract(report, '$.usage.wall_ms')) = 'integer', json_extract(report, '$.usage.wall_ms'), 0)
	|| ' ' || iif(typeof(json_extract(report, '$.usage.cpu_ms')) = 'integer', json_extract(report, '$.usage.cpu_ms'), 0)
	|| ' ' || iif(typeof(json_extract(report, '$.usage.memory_peak_bytes')) = 'integer', json_extract(report, '$.usage.memory_peak_bytes'), 0)
	|| ' ' || iif(typeof(json_extract(request, '$.memory')) = 'integer', json_extract(request, '$.memory'), 0)
	|| ' ' || iif(typeof(json_extract(request, '$.cpus')) IN ('integer', 'real'), json_extract(request, '$.cpus'), 0)
	|| ' ' || hex(coalesce(json_extract(request, '$.timeout'), ''))
	|| ' ' || hex(coalesce(reason, ''))`

// Usage streams what ended runs requested and used.
func (c *Catalog) Usage(ctx context.Context, filter catalog.Filter, label string, yield func(catalog.Usage) bool) error {
	err := reading(ctx, c.named.journal, yield, func(yield func(catalog.Usage) bool) error { return c.usage(ctx, filter, label, yield) })
	if err != nil {
		return fmt.Errorf("usage of runs: %w", explain(err))
	}
	return nil
}

func (c *Catalog) usage(ctx context.Context, filter catalog.Filter, label string, yield func(catalog.Usage) bool) error {
	query, args, err := c.usageQuery(ctx, filter, label)
	if err != nil {
		return err
	}
	return relational.Usage(ctx, database{c}, yield, query, args...)
}

// usageQuery is the query of Usage, and its arguments.
func (c *Catalog) usageQuery(ctx context.Context, filter catalog.Filter, label string) (string, []any, error) {
	where, err := c.Matching(ctx, filter)
	if err != nil {
		return "", nil, err
	}
	value := `''`
	if label != "" {
		value = `coalesce((SELECT '=' || hex(value) FROM run_label n WHERE n.id = r.id AND n.attempt = r.attempt AND n.key = ` + where.Bind(label) + `), '')`
	}
	where.Add(relational.HasEnded)
	if !filter.Since.IsZero() {
		where.Add(hourCreated+` >= substr(%s, 1, 13)`, timeText(filter.Since))
	}
	from := ` FROM analysis_run r`
	if len(filter.Labels) == 0 { // else it may use the label with the fewest runs
		from += ` INDEXED BY analysis_run_usage`
	}
	return `SELECT ` + packedUsage + ` || ' ' || ` + value + from + where.String(), where.Args, nil
}
