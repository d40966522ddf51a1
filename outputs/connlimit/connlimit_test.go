package connlimit

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// server is a running server that keeps the connections of requests with a key.
type server struct {
	t       *testing.T
	address string
	l       *listener
}

func serve(t *testing.T, limits Limits) server {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(plain, limits)
	s := &http.Server{ConnContext: connContext, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Key") == "":
			w.WriteHeader(http.StatusUnauthorized)
		case !Keep(r):
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.Header.Get("Key") == "release":
			Release(r)
		}
	})}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-done); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.kept != 0 || l.strangers.Len() != 0 {
			t.Errorf("%d connections are kept, %d are strangers'", l.kept, l.strangers.Len())
		}
	})
	return server{t, plain.Addr().String(), l}
}

func (s server) dial() net.Conn {
	s.t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// client has one connection, which it uses again.
func (s server) client() *http.Client {
	transport := &http.Transport{MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// ask returns the status of a request.
func (s server) ask(c *http.Client, key string) int {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.address, http.NoBody) // a POST is not sent again by itself
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Key", key)
	answer, err := c.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

// ended waits until the server has ended a connection.
func (s server) ended(c net.Conn) {
	s.t.Helper()
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		s.t.Errorf("%d bytes, %v", n, err)
	}
}

// TestSilent: however many clients are silent, a client with the key gets in, and stays.
func TestSilent(t *testing.T) {
	s := serve(t, Limits{Strangers: 4, Kept: 2, Patience: time.Hour})
	client := s.client()
	for range 2 {
		var silent []net.Conn
		for range 50 {
			silent = append(silent, s.dial())
		}
		for _, c := range silent[:46] {
			s.ended(c)
		}
		if got := s.ask(client, "x"); got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
}

// TestKept: the number of kept connections is bounded, and the end of one makes room for another.
func TestKept(t *testing.T) {
	s := serve(t, Limits{Strangers: 4, Kept: 2, Patience: time.Hour})
	a, b, c := s.client(), s.client(), s.client()
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusServiceUnavailable} {
		if got := s.ask([]*http.Client{a, b, c}[i], "x"); got != want {
			t.Errorf("client %d: status %d, want %d", i, got, want)
		}
	}
	if got := s.ask(a, "release"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	if got := s.ask(c, "x"); got != http.StatusOK {
		t.Errorf("after a release: status %d", got)
	}
	if got := s.ask(a, ""); got != http.StatusUnauthorized {
		t.Errorf("status %d", got)
	}
}

// TestPatience: a stranger's connection ends, also after a request, and a kept one does not.
func TestPatience(t *testing.T) {
	s := serve(t, Limits{Strangers: 4, Kept: 4, Patience: time.Hour})
	client := s.client()
	if got := s.ask(client, "x"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	s.l.mu.Lock()
	s.l.limits.Patience = time.Millisecond
	s.l.mu.Unlock()
	s.ended(s.dial())
	asks := s.dial()
	_, _ = io.WriteString(asks, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // it may have ended already
	_, _ = io.Copy(io.Discard, asks)
	if got := s.ask(client, "x"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
}
