package postgres

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// BenchmarkCommit100000 commits 100,000 rows, and makes a bare COPY of the same rows into a table with the same
// columns, constraints and indexes, in turns on one server that syncs, and reports the ratio of the medians of their
// times. A rate-of-copy of at least 0.5 is the goal.
func BenchmarkCommit100000(b *testing.B) {
	const rows = 100_000
	server, err := newCluster()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { must(b, server.remove()) }()
	server.execute(b, "postgres", "ALTER SYSTEM SET fsync = on")
	server.execute(b, "postgres", "ALTER SYSTEM SET full_page_writes = on")
	server.execute(b, "postgres", "SELECT pg_reload_conf()")
	name := migrated(b, server)
	server.execute(b, name, "CREATE TABLE bare (LIKE scidex_oci.analysis_output INCLUDING ALL)")
	c := opened(b, server.url("boss", name))
	bare, err := pgx.Connect(b.Context(), server.url("postgres", name))
	must(b, err)
	defer func() { must(b, bare.Close(b.Context())) }()

	var commits, copies []time.Duration
	for i := 0; b.Loop(); i++ {
		run := sample(fmt.Sprint("run-", i))
		must(b, c.Create(b.Context(), run))
		server.execute(b, name, "TRUNCATE bare, scidex_oci.analysis_output")
		server.execute(b, name, "CHECKPOINT")
		began := time.Now()
		must(b, copyBare(b.Context(), bare, run.ID, many(rows)))
		copies = append(copies, time.Since(began))
		server.execute(b, name, "CHECKPOINT")
		began = time.Now()
		must(b, c.Commit(b.Context(), over(run), many(rows)))
		commits = append(commits, time.Since(began))
	}
	b.ReportMetric(rows/median(commits).Seconds(), "commit-rows/s")
	b.ReportMetric(rows/median(copies).Seconds(), "copy-rows/s")
	b.ReportMetric(median(copies).Seconds()/median(commits).Seconds(), "rate-of-copy")
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }

// copyBare is COPY and nothing else.
func copyBare(ctx context.Context, conn *pgx.Conn, id string, next func() (outputs.Entry, error)) error {
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"bare"}, []string{"id", "attempt", "path", "size", "sha256", "media_type", "mode", "verdict", "detail", "partial"}, pgx.CopyFromFunc(func() ([]any, error) {
		e, err := next()
		if err == io.EOF { //nolint:errorlint // many returns it bare
			return nil, nil
		}
		return []any{id, 1, e.Path, e.Size, e.SHA256, e.MediaType, int64(e.Mode), "output", nil, e.Partial}, err
	}))
	return err
}
