package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// slowReader is a file that takes a line only when the test lets it.
type slowReader struct {
	let   chan struct{} // closed: always
	mu    sync.Mutex
	taken bytes.Buffer
	err   error
}

func (r *slowReader) Write(p []byte) (int, error) {
	<-r.let
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return 0, r.err
	}
	return r.taken.Write(p)
}

func (r *slowReader) Close() error { return nil }

func (r *slowReader) lines(t *testing.T) (all []event.Event) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(r.taken.Bytes()) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, e)
	}
	return all
}

func said(id, text string) event.Event {
	return event.New(event.TypeLog, id, event.NewLog(1, "stdout", 0, []byte(text)))
}

// TestSinkOfManyRuns mixes the events of many runs, whole and each run's in order.
func TestSinkOfManyRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	var sinks []*eventsWriter
	for range 2 { // as of two commands
		file, err := eventsTarget{path: path}.open()
		if err != nil {
			t.Fatal(err)
		}
		sinks = append(sinks, newEventsWriter(file))
	}
	const runs, each = 20, 50
	var all sync.WaitGroup
	for i := range runs {
		all.Go(func() {
			for n := range each {
				if err := sinks[i%2].Put(said(fmt.Sprint(i), fmt.Sprintf("%d%s", n, strings.Repeat("x", 9000)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, s := range sinks {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &slowReader{}
	r.taken.Write(text)
	next := map[string]int{}
	for _, e := range r.lines(t) {
		var n int
		_, err := fmt.Sscan(strings.TrimRight(e.Data.(map[string]any)["text"].(string), "x"), &n)
		if err != nil || n != next[e.ID] || e.Dropped != nil {
			t.Fatalf("run %s: event %d after %d others, %v, dropped %v", e.ID, n, next[e.ID], err, e.Dropped)
		}
		next[e.ID]++
	}
	if len(next) != runs {
		t.Errorf("%d runs", len(next))
	}
}

// TestSinkCountsWhatItDrops: a reader that does not read holds up no writer, and is told later how much it has missed.
func TestSinkCountsWhatItDrops(t *testing.T) {
	r := &slowReader{let: make(chan struct{})}
	s := newEventsWriter(r)
	s.limit = 4096
	for i := range 100 {
		if err := errors.Join(s.Put(said("a", strings.Repeat("x", 100))), s.Put(event.New(event.TypeUsage, "a", event.Usage{}))); err != nil {
			t.Fatal(i, err)
		}
	}
	for _, id := range []string{"a", "b"} {
		if err := s.Finish(result.Result{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	close(r.let)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := r.lines(t)
	a, b := all[len(all)-2], all[len(all)-1]
	if a.ID != "a" || a.Type != event.TypeFinished || a.Dropped == nil || b.ID != "b" || b.Dropped != nil {
		t.Fatalf("the last two are %+v and %+v", a, b)
	}
	if got := int64(len(all)-2) + a.Dropped.Log + a.Dropped.Usage; got != 200 || a.Dropped.Log == 0 || a.Dropped.Usage == 0 {
		t.Errorf("%d passed on, dropped %+v: %d of 200", len(all)-2, *a.Dropped, got)
	}
}

// TestWeight: requests are up to 1 MiB, and what waits for a reader that hangs is bounded with them.
func TestWeight(t *testing.T) {
	request := json.RawMessage(`{"command":["` + strings.Repeat("x", 1<<20) + `"]}`)
	for _, data := range []any{event.Created{Analysis: request}, result.Result{Analysis: request}} {
		if got := eventSize(event.Event{Data: data}); got < len(request) {
			t.Errorf("%T counts as %d bytes, and has %d", data, got, len(request))
		}
	}
}

// TestSinkGivesUp waits for a reader that takes nothing only for so long, at the end and where too much waits.
func TestSinkGivesUp(t *testing.T) {
	hanging := func() *eventsWriter {
		r := &slowReader{let: make(chan struct{})}
		t.Cleanup(func() { close(r.let) })
		s := newEventsWriter(r)
		s.limit, s.timeout = 1024, 50*time.Millisecond
		return s
	}
	s := hanging()
	if err := s.Finish(result.Result{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "they were not read for 50ms") {
		t.Errorf("close: %v", err)
	}
	s = hanging()
	var err error
	for range 100 { // more than may wait
		err = errors.Join(err, s.Finish(result.Result{ID: "a"}))
	}
	if err == nil || s.Close() == nil {
		t.Errorf("put: %v", err)
	}
}

// TestSinkWaitsForASlowReader as long as that takes something.
func TestSinkWaitsForASlowReader(t *testing.T) {
	r := &slowReader{let: make(chan struct{})}
	s := newEventsWriter(r)
	const events = 20
	for range events {
		if err := s.Finish(result.Result{ID: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for range events {
			r.let <- struct{}{}
		}
	}()
	if err := s.Close(); err != nil || len(r.lines(t)) != events {
		t.Errorf("%d lines, %v", len(r.lines(t)), err)
	}
}

// TestSinkWithoutAReader says so, from the first event that fails on.
func TestSinkWithoutAReader(t *testing.T) {
	r := &slowReader{let: make(chan struct{}), err: syscall.EPIPE}
	close(r.let)
	s := newEventsWriter(r)
	_ = s.Put(said("a", "x"))
	err := s.Close()
	if err == nil || !strings.Contains(err.Error(), "their reader has gone") {
		t.Fatalf("close: %v", err)
	}
	if again := s.Put(said("a", "x")); again == nil || again.Error() != err.Error() {
		t.Errorf("put: %v", again)
	}
}

func TestSinkAfterItsEnd(t *testing.T) {
	r := &slowReader{let: make(chan struct{})}
	close(r.let)
	s := newEventsWriter(r)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(said("a", "late")); err != nil || len(r.lines(t)) != 0 {
		t.Errorf("%v, %q", err, r.taken.String())
	}
}

var _ io.WriteCloser = (*slowReader)(nil)
