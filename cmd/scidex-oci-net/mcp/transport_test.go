package mcp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/mcp/access"
	"github.com/scidex-ai/scidex-oci/internal/bounded"
)

// TestSilentClients: connections without the key, as many as they are, keep nobody out who has it; one that shows a wrong key ends.
func TestSilentClients(t *testing.T) {
	const key = access.Key("0123456789abcdef")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(access.Guard(key, mostMessage, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), slog.New(slog.DiscardHandler))
	server.ReadHeaderTimeout = time.Hour
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- serveHTTP(ctx, l, server) }()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for range mostConnections + mostStrangers {
		dial()
	}
	for _, test := range []struct {
		key  string
		want int
		ends bool
	}{{"wrong", http.StatusUnauthorized, true}, {string(key), http.StatusOK, false}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+test.key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		if answer.StatusCode != test.want || answer.Close != test.ends {
			t.Errorf("key %q: status %d, the connection ends: %v", test.key, answer.StatusCode, answer.Close)
		}
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestServerLogs: what the server has to say is a line of the log, as all else.
func TestServerLogs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := bounded.Head(1 << 10)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	server := newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a fault") }), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	go func() { served <- serveHTTP(ctx, l, server) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+l.Addr().String(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(r); err == nil {
		answer.Body.Close()
		t.Errorf("status %d of a handler that panics", answer.StatusCode)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := log.String(); !strings.Contains(got, `level=DEBUG msg="http: panic serving`) {
		t.Errorf("the log has %q", got)
	}
}
