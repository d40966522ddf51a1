package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
)

const (
	// requestMost is the most spans of a request. The spans of one trace are always in one request.
	requestMost = 5_000
	firstPause  = 500 * time.Millisecond
)

// Export sends the traces that from has, one JSON object after the other, within the timeout.
func Export(ctx context.Context, s Settings, from io.Reader) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("it did not take them within %v", s.Timeout))
	defer cancel()
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: s.TLS, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // headers are for this receiver
	}
	defer client.CloseIdleConnections()
	decoder := json.NewDecoder(from)
	for {
		traces, end := next(decoder)
		if len(traces) > 0 {
			if err := s.send(ctx, client, traces); err != nil {
				return fmt.Errorf("send spans to %s: %w", redacted(s.URL), err)
			}
		}
		if errors.Is(end, io.EOF) {
			return nil
		}
		if end != nil {
			return end
		}
	}
}

// next reads traces for one request.
func next(from *json.Decoder) (traces []spans.Trace, err error) {
	for n := 0; n < requestMost; {
		var t spans.Trace
		if err := from.Decode(&t); err != nil {
			return traces, err
		}
		traces, n = append(traces, t), n+len(t.Phases)
	}
	return traces, nil
}

// send sends one request, and again if the receiver may take it later.
func (s Settings) send(ctx context.Context, client *http.Client, traces []spans.Trace) error {
	body, header, err := s.body(traces)
	if err != nil {
		return err
	}
	var last error
	for pause := (backoff.Backoff{First: firstPause}); ; {
		again, err := s.post(ctx, client, body, header)
		switch {
		case err == nil:
			return nil
		case last != nil && ctx.Err() != nil:
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), last)
		case again < 0:
			return err
		}
		last = err
		if !pause.WaitAtLeast(ctx, again) {
			return fmt.Errorf("%w; last: %w", context.Cause(ctx), err)
		}
	}
}

func (s Settings) body(traces []spans.Trace) (body []byte, header http.Header, err error) {
	header = s.Headers.Clone()
	header.Set("Content-Type", "application/x-protobuf")
	if s.JSON {
		header.Set("Content-Type", "application/json")
	}
	body, err = s.marshal(traces)
	if s.Gzip && err == nil {
		header.Set("Content-Encoding", "gzip")
		var packed bytes.Buffer
		to := gzip.NewWriter(&packed)
		_, err = to.Write(body)
		err = errors.Join(err, to.Close())
		body = packed.Bytes()
	}
	return body, header, err
}

// never says that a request is not to be sent again.
const never = -1

// post sends a request once. again is for how long at least to wait before the next time.
func (s Settings) post(ctx context.Context, client *http.Client, body []byte, header http.Header) (again time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return never, err
	}
	r.Header = header
	answer, err := client.Do(r)
	if err != nil {
		if ctx.Err() != nil {
			return never, context.Cause(ctx)
		}
		return 0, plain(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // for the next request of the connection
	switch answer.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return never, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return retryAfter(answer.Header.Get("Retry-After")), errors.New(answer.Status)
	}
	return never, errors.New(answer.Status)
}

// retryAfter reads a number of seconds; a date, or what is none, is 0.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// plain is an error of net/http without the URL, which may have a password.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

func redacted(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "the receiver"
	}
	return u.Redacted()
}
