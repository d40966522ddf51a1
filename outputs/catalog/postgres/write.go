package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
)

// begin has settings that end with the transaction. No wait for a row is unbounded. A server whose client vanished releases
// its rows. An acknowledged commit is on disk, even if the database's settings do not require it.
const begin = `begin isolation level read committed read write;
	set local lock_timeout = '60s';
	set local idle_in_transaction_session_timeout = '30s';
	set local tcp_keepalives_idle = '15s';
	set local tcp_keepalives_interval = '5s';
	set local tcp_keepalives_count = 3;
	select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`

// outcomeUnknown is an error of COMMIT after which the transaction may be committed or not.
type outcomeUnknown struct{ err error }

func (e *outcomeUnknown) Error() string { return "the reply to COMMIT was lost: " + e.err.Error() }
func (e *outcomeUnknown) Unwrap() error { return e.err }

// write runs do in one transaction. do's error undoes it.
func (c *Catalog) write(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return c.writeWith(ctx, c.begin, do)
}

// writePatiently is write with retries while the server is unreachable.
func (c *Catalog) writePatiently(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	return c.writeWith(ctx, func(ctx context.Context) (conn *pgxpool.Conn, tx pgx.Tx, err error) {
		err = retry(ctx, c.timeout, func() error {
			conn, tx, err = c.begin(ctx)
			return err
		})
		return conn, tx, err
	}, do)
}

type beginner func(ctx context.Context) (*pgxpool.Conn, pgx.Tx, error)

func (c *Catalog) writeWith(ctx context.Context, begin beginner, do func(ctx context.Context, tx pgx.Tx) error) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	conn, tx, err := begin(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // the pool closes it if a transaction is open
	committed := false
	defer func() { // also if do panics
		if !committed {
			rollback(ctx, tx)
		}
	}()
	if err := do(ctx, tx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	committed = true
	return c.end(ctx, tx)
}

// begin begins a transaction. The server may have closed idle connections of the pool.
func (c *Catalog) begin(ctx context.Context) (*pgxpool.Conn, pgx.Tx, error) {
	conn, tx, err := c.beginOn(ctx)
	var connecting *pgconn.ConnectError
	if err != nil && gone(err) && !errors.As(err, &connecting) && ctx.Err() == nil {
		c.pool.Reset()
		return c.beginOn(ctx)
	}
	return conn, tx, err
}

func (c *Catalog) beginOn(ctx context.Context) (*pgxpool.Conn, pgx.Tx, error) {
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		conn.Release()
		if codeOf(err) == codeUnsupported {
			err = &standbyError{err}
		}
		return nil, nil, err
	}
	return conn, tx, nil
}

// end commits. An interrupted COMMIT has an unknown outcome, so ctx does not interrupt it.
func (c *Catalog) end(ctx context.Context, tx pgx.Tx) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout)
	defer cancel()
	err := tx.Commit(ctx)
	var refused *pgconn.PgError
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) || errors.As(err, &refused) && refused.SeverityUnlocalized == "ERROR" {
		return err // an ERROR in COMMIT is a rollback; a FATAL one may come after it
	}
	return &outcomeUnknown{err}
}

// rollback rolls back; a server that misses it finds the client gone.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// retry calls do while the server is gone, for timeout at most.
func retry(ctx context.Context, timeout time.Duration, do func() error) error {
	deadline := time.Now().Add(timeout)
	for pause := (backoff.Backoff{First: 10 * time.Millisecond, Longest: time.Second}); ; {
		err := do()
		if err == nil || !gone(err) || ctx.Err() != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %s of trying: %w", timeout, err)
		}
		if !pause.Wait(ctx) {
			return ctx.Err()
		}
	}
}
