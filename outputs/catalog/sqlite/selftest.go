package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

const selectSelftests = `SELECT ts, host, tool_version, passed, report FROM selftest_report ORDER BY ts DESC, id DESC`

// AddSelftest keeps the report of a selftest.
func (c *Catalog) AddSelftest(ctx context.Context, report catalog.Selftest) error {
	if err := report.Validate(); err != nil {
		return fmt.Errorf("add a selftest's report: %w", err)
	}
	err := c.write(ctx, func(ctx context.Context, tx *sql.Conn) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO selftest_report (ts, host, tool_version, passed, report) VALUES (?, ?, ?, ?, ?)`,
			timeText(report.At), report.Host, report.ToolVersion, report.Passed, string(report.Report))
		return err
	})
	if err != nil {
		return fmt.Errorf("add a selftest's report: %w", explain(err))
	}
	return nil
}

// Selftests returns reports, the newest first.
func (c *Catalog) Selftests(ctx context.Context, limit int) ([]catalog.Selftest, error) {
	reports, err := c.selftests(ctx, limit)
	if err != nil {
		return nil, fmt.Errorf("list the selftests' reports: %w", explain(err))
	}
	return reports, nil
}

func (c *Catalog) selftests(ctx context.Context, limit int) (reports []catalog.Selftest, err error) {
	query, args := selectSelftests, []any(nil)
	if limit > 0 {
		query, args = query+` LIMIT ?`, append(args, limit)
	}
	rows, err := c.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var report catalog.Selftest
		var at, text string
		if err := rows.Scan(&at, &report.Host, &report.ToolVersion, &report.Passed, &text); err != nil {
			return nil, err
		}
		report.Report = relational.Document(text)
		if report.At, err = time.Parse(relational.Layout, at); err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	return reports, rows.Err()
}
