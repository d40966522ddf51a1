package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Codes of PostgreSQL's errors (PostgreSQL, appendix A).
const (
	codeNotAllowed  = "42501" // insufficient_privilege
	codeLockTimeout = "55P03" // lock_not_available
	codeTooMany     = "53300" // too_many_connections
	codeDiskFull    = "53100"
	codeNoDatabase  = "3D000"
	codeReadOnly    = "25006" // read_only_sql_transaction
	codeIdle        = "25P03" // idle_in_transaction_session_timeout: this process was suspended
	codeUnsupported = "0A000" // feature_not_supported: a standby's answer to BEGIN READ WRITE, among others
)

// codeOf returns the code of a PostgreSQL error or "".
func codeOf(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// gone reports whether err is an unreachable server or a closed connection: worth a retry.
func gone(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		// 08: connection exceptions, PgBouncer's too. 57P: shutdown, crash, start-up.
		return strings.HasPrefix(e.Code, "08") || strings.HasPrefix(e.Code, "57P") || e.Code == codeTooMany || e.Code == codeIdle
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// standbyError is the answer of a standby to the start of a write transaction.
type standbyError struct{ err error }

func (e *standbyError) Error() string { return e.err.Error() }
func (e *standbyError) Unwrap() error { return e.err }

// explain adds advice, if there is any, to PostgreSQL's errors. An error of connecting, which lists each try on a
// separate line, becomes one sentence.
func (c *Catalog) explain(err error) error {
	var unknown *outcomeUnknown
	if errors.As(err, &unknown) { // it is explained already
		return catalog.Transient(err)
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) && !errors.Is(err, context.Canceled) {
		return markUnreachable(err, c.explainConnecting(err))
	}
	var standby *standbyError
	switch code := codeOf(err); {
	case errors.As(err, &standby), code == codeReadOnly:
		return fmt.Errorf("PostgreSQL at %s can only be read, as a standby can; name the primary with --db, or several hosts and target_session_attrs=read-write: %w",
			c.to, catalog.Transient(err))
	case code == codeNotAllowed:
		return fmt.Errorf("the role %q may not do this (%w); grant it scidex_run, which is enough for all but removing runs and changing the schema: these take scidex_admin",
			c.to.user, err)
	case code == codeLockTimeout:
		return fmt.Errorf("another process has held the row for %s; try again when it is done: %w", timeout, catalog.Transient(err))
	case code == codeDiskFull:
		return fmt.Errorf("the server's disk is full; free some space and try again: %w", catalog.Transient(err))
	case gone(err):
		return fmt.Errorf("the connection to PostgreSQL at %s was lost; try again: %w", c.to, catalog.Unreachable(err))
	default:
		return err
	}
}

// markUnreachable marks said, the explanation of err, if the server is gone.
func markUnreachable(err, said error) error {
	if gone(err) {
		return catalog.Unreachable(said)
	}
	return said
}

func (c *Catalog) explainConnecting(err error) error {
	var refused *pgconn.PgError
	var network *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Code == codeNoDatabase:
		return fmt.Errorf("PostgreSQL has no such database (%w); make it with createdb, or name another with --db", refused)
	case errors.As(err, &refused) && refused.Code == codeTooMany:
		return fmt.Errorf("PostgreSQL has no connection left for this role (%w); try again later, or let its administrator allow more: max_connections, or CONNECTION LIMIT of the role or database",
			refused)
	case errors.As(err, &refused):
		return fmt.Errorf("PostgreSQL refused the connection: %w", refused)
	case errors.As(err, &network):
		return fmt.Errorf("PostgreSQL cannot be reached (%w); check that it runs and that --db names its host and port", network.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("PostgreSQL did not answer in time; check that --db names its host and port: %w", context.DeadlineExceeded)
	default:
		return fmt.Errorf("PostgreSQL cannot be reached: %w", last(err))
	}
}

// last is the innermost error, without the text about each try.
func last(err error) error {
	for {
		switch e := err.(type) { //nolint:errorlint // this walks the chain
		case interface{ Unwrap() error }:
			if e.Unwrap() == nil {
				return err
			}
			err = e.Unwrap()
		case interface{ Unwrap() []error }:
			if len(e.Unwrap()) == 0 {
				return err
			}
			err = e.Unwrap()[len(e.Unwrap())-1]
		default:
			return err
		}
	}
}
