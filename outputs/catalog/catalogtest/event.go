package catalogtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// seen is an event, some milliseconds after the sample runs were made.
func seen(ms int, kind, address string) catalog.Event {
	return catalog.Event{
		At: created().Add(time.Duration(ms) * time.Millisecond), Kind: kind, Address: []byte(address),
		Severity: "high", Blocked: true, Count: 1,
	}
}

// finishSeen creates a run and commits it with events.
func finishSeen(t *testing.T, c catalog.Catalog, run catalog.Run, events ...catalog.Event) catalog.Run {
	t.Helper()
	run.Events = events
	return finish(t, c, run)
}

func testEvents(t *testing.T, d Driver) {
	c := fresh(t, d)
	var want []catalog.Event
	for i, address := range strangeNames() {
		event := seen(i, "connect", address)
		event.Severity = []string{"low", "medium", "high"}[i%3]
		event.Allowed, event.Blocked, event.Count = i%2 == 0, i%5 == 0, int64(i)<<32+1
		want = append(want, event)
	}
	want = append(want, seen(1_000_000, "ends in NUL", "\x00@abstract\x00"), seen(1_000_001, "pressure é 🧠", ""))
	finishSeen(t, c, intent("a", 1), seen(0, "connect", "of the first attempt"))
	finishSeen(t, c, intent("a", 2), want...)
	finishSeen(t, c, intent("ab", 1), seen(0, "connect", "of another run"))
	wantEvents(t, c, catalog.Key{ID: "a", Attempt: 1}, seen(0, "connect", "of the first attempt"))
	wantEvents(t, c, catalog.Key{ID: "a", Attempt: 2}, want...)
	wantEvents(t, c, catalog.Key{ID: "a"}, want...)

	running := create(t, c, intent("running", 1))
	wantEvents(t, c, running.Key)
	for _, key := range []catalog.Key{{ID: "a", Attempt: 3}, {ID: "A"}, {ID: "x"}, {}} {
		_, err := c.Events(t.Context(), key)
		wantError(t, fmt.Sprint(key), err, catalog.ErrNotFound)
	}
}

// The order is that of time to the millisecond, then that of Run.Events.
func testEventsOrder(t *testing.T, d Driver) {
	c := fresh(t, d)
	zoned := seen(2, "zoned", "")
	zoned.At = zoned.At.Add(999 * time.Microsecond).In(time.FixedZone("east", 3600))
	run := finishSeen(t, c, intent("a", 1), seen(3, "last", ""), zoned, seen(2, "b", ""), seen(-1, "first", ""), seen(2, "a", ""))
	wantEvents(t, c, run.Key, seen(-1, "first", ""), seen(2, "zoned", ""), seen(2, "b", ""), seen(2, "a", ""), seen(3, "last", ""))
}

func testManyEvents(t *testing.T, d Driver) {
	c := fresh(t, d)
	want := make([]catalog.Event, 1000)
	for i := range want {
		want[i] = seen(i/10, "connect", fmt.Sprint("10.0.0.1:", i))
	}
	given := slices.Concat(want[500:], want[:500])
	run := finishSeen(t, c, intent("a", 1), given...)
	wantEvents(t, c, run.Key, want...)
}

// A retry or an amendment does not change the events of the first commit.
func testEventsOnce(t *testing.T, d Driver) {
	c := fresh(t, d)
	want := []catalog.Event{seen(1, "connect", "/run/postgresql/.s.PGSQL.5432"), seen(2, "socket", "AF_PACKET")}
	run := finishSeen(t, c, intent("a", 1), want...)
	must(t, c.Commit(t.Context(), run, from()))
	wantEvents(t, c, run.Key, want...)

	run.Events = []catalog.Event{seen(3, "limit", "memory")}
	must(t, c.Commit(t.Context(), run, from()))
	must(t, c.Amend(t.Context(), run))
	run.State = outcome.Lost
	wantError(t, "Commit of another state", c.Commit(t.Context(), run, from()), catalog.ErrEnded)
	wantEvents(t, c, run.Key, want...)
}

func testEventsAllOrNothing(t *testing.T, d Driver) {
	broken := errors.New("broken")
	fails := func() (outputs.Entry, error) { return outputs.Entry{}, broken }
	tests := []struct {
		name   string
		change func(*catalog.Run)
		next   func() (outputs.Entry, error)
	}{
		{"next fails", func(*catalog.Run) {}, fails},
		{"bad digest", func(r *catalog.Run) { r.Blobs = []string{"abc"} }, from()},
		{"broken report", func(r *catalog.Run) { r.Report = json.RawMessage(`{`) }, from()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := fresh(t, d)
			intended := create(t, c, intent("a", 1))
			run := ended(intended)
			run.Events = []catalog.Event{seen(1, "connect", "a")}
			undone := run
			tt.change(&undone)
			if err := c.Commit(t.Context(), undone, tt.next); err == nil {
				t.Fatal("it was committed")
			}
			wantRun(t, get(t, c, "a", 1), intended)
			wantEvents(t, c, run.Key)
			must(t, c.Commit(t.Context(), run, from())) // the retry
			wantEvents(t, c, run.Key, run.Events...)
		})
	}
}

func testEventsRefused(t *testing.T, d Driver) {
	tests := []struct {
		name   string
		change func(*catalog.Event)
	}{
		{"no time", func(e *catalog.Event) { e.At = time.Time{} }},
		{"no kind", func(e *catalog.Event) { e.Kind = "" }},
		{"kind that is no text", func(e *catalog.Event) { e.Kind = "\xff" }},
		{"no severity", func(e *catalog.Event) { e.Severity = "" }},
		{"unknown severity", func(e *catalog.Event) { e.Severity = "High" }},
		{"count 0", func(e *catalog.Event) { e.Count = 0 }},
		{"count -1", func(e *catalog.Event) { e.Count = -1 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := fresh(t, d)
			intended := create(t, c, intent("a", 1))
			bad := seen(2, "connect", "b")
			tt.change(&bad)
			run := ended(intended)
			run.Events = []catalog.Event{seen(1, "connect", "a"), bad}
			err := c.Commit(t.Context(), run, func() (outputs.Entry, error) {
				t.Error("an entry was asked for")
				return from()()
			})
			if err == nil {
				t.Error("it was committed")
			}
			wantRun(t, get(t, c, "a", 1), intended)
			wantEvents(t, c, run.Key)
		})
	}
}

func testEventsDeleted(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := finishSeen(t, c, intent("a", 1), seen(1, "connect", "a"))
	kept := finishSeen(t, c, intent("a", 2), seen(2, "connect", "b"))
	must(t, c.Delete(t.Context(), run.Key))
	_, err := c.Events(t.Context(), run.Key)
	wantError(t, "events of a run that is gone", err, catalog.ErrNotFound)
	create(t, c, intent("a", 1)) // no data of the old run is left
	wantEvents(t, c, run.Key)
	wantEvents(t, c, kept.Key, seen(2, "connect", "b"))
}

func wantEvents(t *testing.T, c catalog.Catalog, key catalog.Key, want ...catalog.Event) {
	t.Helper()
	got, err := c.Events(t.Context(), key)
	must(t, err)
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range want {
		if !sameEvent(got[i], want[i]) {
			t.Errorf("event %d = %+v, want %+v", i, got[i], want[i])
		}
	}
}

func sameEvent(a, b catalog.Event) bool {
	return a.At.Equal(b.At) && a.At.Location() == b.At.Location() && a.Kind == b.Kind && bytes.Equal(a.Address, b.Address) && a.Severity == b.Severity &&
		a.Allowed == b.Allowed && a.Blocked == b.Blocked && a.Count == b.Count
}
