package ui

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// listening reads a stream of events, each its name and data.
func listening(t *testing.T, s *Server, page string) func() (name, data string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.host+s.key.root()+page, nil)
	must(t, err)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got, err := client.Do(r)
	must(t, err)
	t.Cleanup(func() { got.Body.Close() })
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s: %s, %q", page, got.Status, got.Header.Get("Content-Type"))
	}
	lines := bufio.NewReader(got.Body)
	return func() (name, data string, err error) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return "", "", err
			}
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch key {
			case "event":
				name = value
			case "data":
				return name, value, nil
			}
		}
	}
}

func TestEventsOfAll(t *testing.T) {
	h := seeded(t)
	next := listening(t, started(t, h), "events")
	var b board
	name, data, err := next()
	must(t, errors.Join(err, json.Unmarshal([]byte(data), &b)))
	if name != "runs" || b.Count != "One run goes on." || len(b.Runs) != 1 {
		t.Fatalf("%s: %s", name, data)
	}
	want := activeRun{"going@1", "run?id=going%401", "true", "running", "5s", "1.5s", "3MiB", "2", ""}
	if b.Runs[0] != want {
		t.Errorf("%+v, want %+v", b.Runs[0], want)
	}
	h.begin(t, "second", at(3), nil) // an unchanged status is not sent again
	_, data, err = next()
	must(t, errors.Join(err, json.Unmarshal([]byte(data), &b)))
	if b.Count != "2 runs go on." || b.Runs[0].Name != "second@1" {
		t.Errorf("%s", data)
	}
}

func TestEventsOfOne(t *testing.T) {
	h := seeded(t)
	next := listening(t, started(t, h), "events?id=going@1&here=true")
	name, data, err := next()
	must(t, err)
	if want := `"stdout":[{"Text":"line \u003cb\u003e","Mark":false},{"Text":"\\x1b","Mark":true},{"Text":"[2J\n","Mark":false}]`; name != "run" || !strings.Contains(data, want) {
		t.Errorf("%s: %s, want %s", name, data, want)
	}
	run, err := h.Get(t.Context(), goingKey)
	must(t, err)
	h.end(t, run, outcome.Complete)
	for name == "run" {
		name, _, err = next()
		must(t, err)
	}
	if name != "end" {
		t.Errorf("it ends with %q", name)
	}
	if _, _, err := next(); !errors.Is(err, io.EOF) {
		t.Errorf("and then comes %v", err)
	}
}

// TestEventsBounded: the number of concurrent streams is bounded, and the end of one makes room for another.
func TestEventsBounded(t *testing.T) {
	s := started(t, seeded(t))
	for range streamsMax {
		_, _, err := listening(t, s, "events")()
		must(t, err)
	}
	if got := page(t, s, "events"); got.status != http.StatusServiceUnavailable {
		t.Errorf("one more: %s", got)
	}
}

// TestStopPage: the page has the form, which works and redirects to the run.
func TestStopPage(t *testing.T) {
	h := seeded(t)
	s := started(t, h)
	proof := s.key.sign(ending(goingKey)...)
	if got := page(t, s, "run?id=going"); !strings.Contains(got.body, `name="proof" value="`+proof+`"`) {
		t.Errorf("no form: %s", got)
	}
	h.mu.Lock()
	h.going.Here = false
	h.mu.Unlock()
	if got := page(t, s, "run?id=going"); strings.Contains(got.body, proof) || got.status != http.StatusOK {
		t.Errorf("a run of elsewhere has a form: %s", got)
	}
}

// TestEnd: Serve closes open connections when it ends, and leaves nothing running.
func TestEnd(t *testing.T) {
	h := seeded(t)
	before := runtime.NumGoroutine()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := New(listener, h.stores(), slog.New(slog.DiscardHandler))
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	next := listening(t, s, "events")
	_, _, err = next()
	must(t, err)
	idle, err := net.Dial("tcp", listener.Addr().String()) // it says nothing
	must(t, err)
	defer idle.Close()
	half, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	defer half.Close()
	_, err = io.WriteString(half, "GET / HTTP/1.1\r\nHost: ")
	must(t, err)
	end()
	select {
	case err := <-served:
		must(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if _, _, err := next(); err == nil {
		t.Error("the stream goes on")
	}
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("it still listens")
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			buffer := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, and %d before:\n%s", runtime.NumGoroutine(), before, buffer[:runtime.Stack(buffer, true)])
		}
	}
}

// TestSlowClient: a client that does not finish its request, or does not read, is disconnected.
func TestSlowClient(t *testing.T) {
	s := started(t, seeded(t))
	c, err := net.Dial("tcp", s.listener.Addr().String())
	must(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nX: ")
	must(t, err)
	must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is waited for")
	}
}

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"a\n", "b"}, "a\nb"},
		{[]string{"first\n" + strings.Repeat("x", tailMax-2) + "\n", "last\n"}, "…\nlast\n"},
		{[]string{strings.Repeat("long", tailMax)}, strings.Repeat("long", tailMax/4)},
	} {
		end := bounded.Tail(tailMax)
		for _, text := range tt.writes {
			n, err := end.Write([]byte(text))
			if n != len(text) || err != nil {
				t.Errorf("Write = %d, %v", n, err)
			}
		}
		if got := fromLine(end); got != tt.want {
			t.Errorf("%.50q, want %.50q", got, tt.want)
		}
	}
}
