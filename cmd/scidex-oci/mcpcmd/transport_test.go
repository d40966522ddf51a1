package mcpcmd

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/mcpcmd/access"
)

// TestSilentClients: connections without the key, as many as they are, keep nobody out who has it; one that shows a wrong key ends.
func TestSilentClients(t *testing.T) {
	const key = access.Key("0123456789abcdef")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(access.Guard(key, mostMessage, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
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
