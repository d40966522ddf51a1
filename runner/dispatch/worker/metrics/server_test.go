package metrics

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// answered is the status and the body of an answer.
func answered(t *testing.T, r *http.Response, err error) (int, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

// A server answers two questions and no other, and leaves nothing when it ends, whoever is still there.
func TestServer(t *testing.T) {
	before := runtime.NumGoroutine()
	s := source()
	hanging := make(chan struct{}, 1)
	var hang atomic.Bool
	s.Depth = func(ctx context.Context) ([]queue.ClassDepth, error) {
		if hang.Load() {
			hanging <- struct{}{}
			<-ctx.Done()
		}
		return nil, ctx.Err()
	}
	m := New(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var ill atomic.Bool
	server := m.Serve(t.Context(), l, func() bool { return !ill.Load() }, slog.New(slog.DiscardHandler))
	url := "http://" + l.Addr().String()
	client := &http.Client{Transport: &http.Transport{}}
	get := func(path string) (int, string) {
		r, err := client.Get(url + path)
		return answered(t, r, err)
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, "\nscidex_oci_queue_up 1\n") {
		t.Errorf("/metrics: %d\n%s", code, body)
	}
	if code, body := get("/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("/healthz: %d %q", code, body)
	}
	ill.Store(true)
	if code, body := get("/healthz"); code != 503 || body != "draining\n" {
		t.Errorf("/healthz of one that drains: %d %q", code, body)
	}
	if code, _ := get("/debug/pprof/"); code != 404 {
		t.Errorf("/debug/pprof/: %d", code)
	}
	r, err := client.Post(url+"/metrics", "text/plain", strings.NewReader("x"))
	if code, _ := answered(t, r, err); code != 405 {
		t.Errorf("POST: %d", code)
	}
	large, err := http.NewRequest(http.MethodGet, url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	large.Header.Set("X", strings.Repeat("x", 2*headerBytes))
	if r, err = client.Do(large); err == nil { // it may be cut off while it is still sending, or reading why
		if _ = r.Body.Close(); r.StatusCode != 431 {
			t.Errorf("large headers: %d", r.StatusCode)
		}
	}

	hang.Store(true)
	m.depth.mu.Lock()
	m.depth.asked = time.Time{}
	m.depth.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if r, err := client.Get(url + "/metrics"); err == nil {
			_ = r.Body.Close()
		}
	}()
	<-hanging
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	client.CloseIdleConnections()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("the port is open yet")
	}
}
