package relational

import (
	"context"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// AddSelftest keeps the report of a selftest.
func (c Catalog) AddSelftest(ctx context.Context, report catalog.Selftest) error {
	if err := report.Validate(); err != nil {
		return fmt.Errorf("add a selftest's report: %w", err)
	}
	err := c.db.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO scidex_oci.selftest_report (ts, host, tool_version, passed, report) VALUES ($1, $2, $3, $4, $5::json)`,
			c.d.Moment(report.At), c.d.Text(report.Host), c.d.Text(report.ToolVersion), report.Passed, string(report.Report))
		return err
	})
	if err != nil {
		return fmt.Errorf("add a selftest's report: %w", c.db.Explain(err))
	}
	return nil
}

// Selftests returns reports, the newest first.
func (c Catalog) Selftests(ctx context.Context, limit int) (reports []catalog.Selftest, err error) {
	sql, args := `SELECT ts, host, tool_version, passed, report::text FROM scidex_oci.selftest_report ORDER BY ts DESC, id DESC`, []any(nil)
	if limit > 0 {
		sql, args = sql+` LIMIT $1`, append(args, limit)
	}
	err = c.db.Query(ctx, func(row Row) (bool, error) {
		var s catalog.Selftest
		err := row.Scan(moment{&s.At}, &s.Host, &s.ToolVersion, &s.Passed, document{&s.Report})
		reports = append(reports, s)
		return true, err
	}, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list the selftests' reports: %w", c.db.Explain(err))
	}
	return reports, nil
}
