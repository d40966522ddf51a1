package registry

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
)

// Bounds on retries of a request.
const (
	maxTries     = 5
	maxWait      = 15 * time.Second // between retries, if the server does not say
	maxRetryWait = 2 * time.Minute  // accepted from a server; a longer wait is left to the user
)

// retryPolicy decides on retries (retry.Policy of oras): requests to a busy or restarting server are retried, and its
// Retry-After (RFC 9110, 10.2.3) is honoured.
type retryPolicy struct {
	first  time.Duration
	mirror bool // another source is left
	log    *slog.Logger
}

// Retry returns the wait before the next try, or a negative duration for none.
func (p retryPolicy) Retry(attempt int, resp *http.Response, err error) (time.Duration, error) {
	if attempt >= p.tries(err) || err != nil && !retryable(err) || err == nil && !busy(resp.StatusCode) {
		return -1, nil
	}
	wait := backoff.Doubled(p.first, maxWait, attempt)
	wait += rand.N(wait/4 + 1) // so that many pulls do not retry at once
	if err == nil {
		if asked, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now()); ok {
			wait = max(asked, 0)
		}
	}
	if wait > maxRetryWait {
		return -1, nil
	}
	p.log.Warn("a request is tried again", "in", wait.Round(time.Millisecond), "status", status(resp), "error", err)
	return wait, nil
}

// tries bounds the retries. A mirror is retried twice, and not at all if it cannot be reached or does not answer.
func (p retryPolicy) tries(err error) int {
	var dialing *net.OpError
	var network net.Error
	switch {
	case !p.mirror:
		return maxTries
	case errors.As(err, &dialing) && dialing.Op == "dial", errors.As(err, &network) && network.Timeout():
		return 0
	}
	return 2
}

func status(resp *http.Response) string {
	if resp == nil {
		return ""
	}
	return resp.Status
}

func busy(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// retryable reports whether a connection broke or stalled. A refused connection, an unknown name and a bad certificate are not
// transient.
func retryable(err error) bool {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &certificate):
		return false
	case errors.Is(err, errNotTaken), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return true
	}
	return errors.As(err, &network) && network.Timeout()
}

// retryAfter reads seconds or a date.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(now), true
	}
	return 0, false
}
