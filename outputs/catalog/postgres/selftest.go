package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

const selectSelftests = `SELECT ts, host, tool_version, passed, report::text FROM scidex_oci.selftest_report ORDER BY ts DESC, id DESC`

// AddSelftest keeps the report of a selftest.
func (c *Catalog) AddSelftest(ctx context.Context, report catalog.Selftest) error {
	if err := report.Validate(); err != nil {
		return fmt.Errorf("add a selftest's report: %w", err)
	}
	err := c.write(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO scidex_oci.selftest_report (ts, host, tool_version, passed, report)
			VALUES ($1, $2, $3, $4, $5::json)`,
			moment(report.At), text(report.Host), text(report.ToolVersion), report.Passed, string(report.Report))
		return err
	})
	if err != nil {
		return fmt.Errorf("add a selftest's report: %w", c.explain(err))
	}
	return nil
}

// Selftests returns reports, the newest first.
func (c *Catalog) Selftests(ctx context.Context, limit int) ([]catalog.Selftest, error) {
	sql, args := selectSelftests, []any(nil)
	if limit > 0 {
		sql, args = sql+` LIMIT $1`, append(args, limit)
	}
	var reports []catalog.Selftest
	err := c.readAll(ctx, func(row pgx.Row) (bool, error) {
		var s catalog.Selftest
		var report string
		err := row.Scan(&s.At, &s.Host, &s.ToolVersion, &s.Passed, &report)
		s.At, s.Report = s.At.UTC(), relational.Document(report)
		reports = append(reports, s)
		return true, err
	}, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list the selftests' reports: %w", c.explain(err))
	}
	return reports, nil
}
