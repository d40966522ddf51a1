package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
)

// write runs do in one transaction that has the write lock from its start, so that what it reads cannot change before it
// writes. do's error undoes it.
//
// Statements inside run without ctx: interrupting them would gain nothing, as each is short, and the outcome of an
// interrupted COMMIT is unknown. Long work checks ctx itself.
func (c *Catalog) write(ctx context.Context, do func(ctx context.Context, tx *sql.Conn) error) error {
	select {
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	conn, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // back to the pool
	defer c.lockWriters(ctx)()
	if err := c.checkLog(ctx, conn); err != nil {
		return err
	}
	if err := c.begin(ctx, conn); err != nil {
		return err
	}
	detached := context.WithoutCancel(ctx)
	committed := false
	defer func() { // also if do panics
		if !committed {
			rollback(detached, conn)
		}
	}()
	if err := do(detached, conn); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := conn.ExecContext(detached, `COMMIT`); err != nil {
		return err
	}
	committed = true
	// SQLite also commits into a file that has lost its name.
	if err := c.named.checkReplaced(); err != nil {
		return err
	}
	return c.checkLog(detached, conn)
}

// lockWriters waits for the lock of writing processes, and returns a function that releases it. It is only for fairness: if it
// cannot have the lock, because the file is another user's or its holder is stopped, the process tries SQLite's own
// lock anyway.
func (c *Catalog) lockWriters(ctx context.Context) (unlock func()) {
	unlock, err := c.locker.lock(ctx, c.path, c.timeout)
	if err != nil {
		return func() {}
	}
	return unlock
}

// begin takes the write lock. SQLite's own wait cannot be canceled and favours late comers, so it is disabled for this
// one statement.
func (c *Catalog) begin(ctx context.Context, conn *sql.Conn) error {
	detached := context.WithoutCancel(ctx)
	if _, err := conn.ExecContext(detached, `PRAGMA busy_timeout = 0`); err != nil {
		return err
	}
	defer func() {
		if _, err := conn.ExecContext(detached, fmt.Sprintf("PRAGMA busy_timeout = %d", timeout.Milliseconds())); err != nil {
			discard(conn)
		}
	}()
	return retryBusy(ctx, time.Now().Add(c.timeout), func() error {
		_, err := conn.ExecContext(detached, `BEGIN IMMEDIATE`)
		return err
	})
}

// rollback undoes a transaction. SQLite may have done so already (a full disk); then ROLLBACK is an error: such a connection
// is not used again.
func rollback(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, `ROLLBACK`); err != nil {
		discard(conn)
	}
}

func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool close it
}

// retryBusy calls do until its error is not a held lock, at least once and until the deadline at most.
func retryBusy(ctx context.Context, deadline time.Time, do func() error) error {
	for pause := (backoff.Backoff{First: time.Millisecond, Longest: 20 * time.Millisecond}); ; {
		err := do()
		if err == nil || !busy(err) || time.Now().After(deadline) {
			return err
		}
		if !pause.Wait(ctx) {
			return ctx.Err()
		}
	}
}
