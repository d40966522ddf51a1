package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// For a queue in the same database, which changes rows of runs and of jobs in one transaction (riverqueue): it locks
// rows of runs first.

// Within runs do in one write transaction. do's error undoes it.
func (c *Catalog) Within(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return c.Explain(c.write(ctx, do))
}

// Reading runs do on a snapshot as of do's first query.
func (c *Catalog) Reading(ctx context.Context, do func(tx pgx.Tx) error) error {
	return c.Explain(c.read(ctx, do))
}

// Explain adds advice to an error of PostgreSQL; nil stays nil.
func (c *Catalog) Explain(err error) error {
	if err == nil {
		return nil
	}
	return c.explain(err)
}

// NotAllowed reports whether err is a missing privilege of the role.
func NotAllowed(err error) bool { return codeOf(err) == codeNotAllowed }

// Connections makes a pool for permanent use and LISTEN: unlike the catalog's own it keeps connections for up to a minute.
func (c *Catalog) Connections(ctx context.Context) (*pgxpool.Pool, error) {
	config := c.pool.Config().Copy()
	config.MaxConns, config.MaxConnIdleTime, config.HealthCheckPeriod = 4, time.Minute, 15*time.Second
	config.AfterConnect = setServerTimeouts
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.to, err)
	}
	return pool, nil
}

// ConnectAs makes one connection like those of a pool, outside of it.
func ConnectAs(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	if err := setServerTimeouts(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// setServerTimeouts makes the server drop a connection whose worker's host vanished, as dialer does here: else it counts against
// max_connections for two hours. It also drops one that is idle in a transaction, such as that of a stopped worker: that
// would lock rows of jobs, or the lead, for as long.
func setServerTimeouts(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, fmt.Sprintf(`set idle_in_transaction_session_timeout = '30s'; set tcp_keepalives_idle = '%ds'; set tcp_keepalives_interval = '%ds'; set tcp_keepalives_count = %d; set tcp_user_timeout = '%ds'`,
		int(probeAfter.Seconds()), int(probeEvery.Seconds()), probes, int(unacknowledged.Seconds())), pgx.QueryExecModeSimpleProtocol)
	return err
}

// Insert is Create in a transaction.
func Insert(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	if err := dialect.ValidateIntent(run); err != nil {
		return fmt.Errorf("create run %q: %w", relational.Label(run.Key), err)
	}
	if err := dialect.Insert(ctx, transaction{tx}, run); err != nil {
		return fmt.Errorf("create run %q: %w", relational.Label(run.Key), err)
	}
	return nil
}

// Last reads and locks the last attempt of an id until the transaction ends. The previous holder of the lock may have
// written the next attempt, which the statement that waited does not see: then it reads again.
func Last(ctx context.Context, tx pgx.Tx, id string) (run catalog.Run, err error) {
	for later := true; later; {
		run, err = relational.ScanRun(tx.QueryRow(ctx, relational.SelectRun+` WHERE id = $1 ORDER BY attempt DESC LIMIT 1 FOR UPDATE OF r`, text(id)))
		if err != nil {
			return run, notFound(err)
		}
		err = tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM scidex_oci.analysis_run WHERE id = $1 AND attempt > $2)`, text(id), run.Attempt).Scan(&later)
		if err != nil {
			return run, err
		}
	}
	return run, nil
}

// Begin turns a queued run into a running one, on the host and with the request of run. It returns catalog.ErrExists if it
// is not queued.
func Begin(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	was, err := dialect.ReadState(ctx, transaction{tx}, run.Key)
	if err != nil {
		return err
	}
	if was.State != outcome.Queued {
		return catalog.ErrExists
	}
	run.State = outcome.Running
	move, err := catalog.Updated(was, run)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE scidex_oci.analysis_run
		SET state = $3, place = $4::json, request = $5::json, host = $6, boot_id = $7, tool_version = $8
		WHERE id = $1 AND attempt = $2`,
		run.ID, run.Attempt, string(move.State()), relational.DocumentOrNull(run.Place), relational.DocumentOrNull(run.Request),
		text(run.Host), text(run.BootID), text(run.ToolVersion))
	return err
}

// End is Commit in a transaction, of a run without outputs.
func End(ctx context.Context, tx pgx.Tx, run catalog.Run) error {
	if err := run.ValidateEnd(); err != nil {
		return err
	}
	_, err := dialect.End(ctx, transaction{tx}, run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF })
	return err
}

// CommitWith is Commit; if it ends the run, also runs in the same transaction.
func (c *Catalog) CommitWith(
	ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), also func(ctx context.Context, tx pgx.Tx) error,
) error {
	return c.commitWith(ctx, run, next, commitOptions{also: also})
}

// CommitQueued is CommitWith for a run that no worker has started; else it returns catalog.ErrEnded.
func (c *Catalog) CommitQueued(
	ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), also func(ctx context.Context, tx pgx.Tx) error,
) error {
	return c.commitWith(ctx, run, next, commitOptions{also: also, queued: true})
}

func (c *Catalog) commitWith(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error), o commitOptions) error {
	if err := c.commit(ctx, run, next, o); err != nil {
		return fmt.Errorf("commit run %q: %w", relational.Label(run.Key), c.explain(err))
	}
	return nil
}

// Unknown reports whether the reply to COMMIT was lost, so that the write may have succeeded.
func Unknown(err error) bool {
	var unknown *outcomeUnknown
	return errors.As(err, &unknown)
}
