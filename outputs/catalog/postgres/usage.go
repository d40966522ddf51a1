package postgres

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

// Usage streams what ended runs requested and used.
func (c *Catalog) Usage(ctx context.Context, filter catalog.Filter, label string, yield func(catalog.Usage) bool) error {
	sql, args, err := c.usageQuery(ctx, filter, label)
	if err != nil {
		return err
	}
	if err := relational.Usage(ctx, database{c}, yield, sql, args...); err != nil {
		return fmt.Errorf("usage of runs: %w", c.explain(err))
	}
	return nil
}

// usageQuery is the query for relational.Usage, and its arguments. The index analysis_run_usage has all its columns.
func (c *Catalog) usageQuery(ctx context.Context, filter catalog.Filter, label string) (sql string, args []any, err error) {
	where, err := c.Matching(ctx, filter)
	if err != nil {
		return "", nil, err
	}
	value := `''`
	where.Add(relational.HasEnded)
	from := ` FROM (SELECT id, attempt, usage, reason FROM scidex_oci.analysis_run r` + where.String() + `) r`
	if label != "" && isText(label) {
		value = `coalesce('=' || encode(convert_to(value, 'UTF8'), 'hex'), '')`
		from += ` LEFT JOIN scidex_oci.run_label l ON l.id = r.id AND l.attempt = r.attempt AND l.key = ` + where.Bind(label)
	}
	return `SELECT usage || ' ' || encode(convert_to(coalesce(reason, ''), 'UTF8'), 'hex') || ' ' || ` + value + from, where.Args, nil
}
