package catalogtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func testCreate(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := create(t, c, intent("a", 1))
	wantRun(t, get(t, c, "a", 1), run)

	wantError(t, "the same attempt again", c.Create(t.Context(), intent("a", 1)), catalog.ErrExists)
	create(t, c, intent("a", 2))
	create(t, c, intent("A", 1)) // case counts

	bare := catalog.Run{Key: catalog.Key{ID: "bare", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: created()}
	create(t, c, bare)
	wantRun(t, get(t, c, "bare", 1), bare)

	// A time of another zone and finer grain is kept in UTC to the millisecond.
	zoned := intent("zoned", 1)
	zoned.CreatedAt = created().Add(123 * time.Microsecond).In(time.FixedZone("east", 3600))
	create(t, c, zoned)
	if got := get(t, c, "zoned", 1).CreatedAt; got != created() {
		t.Errorf("CreatedAt = %v, want %v", got, created())
	}

	// A refused creation leaves the existing run unchanged.
	other := intent("a", 1)
	other.Host, other.Labels, other.Blobs = "host-2", map[string]string{"new": "label"}, []string{digest("new")}
	wantError(t, "another run of that key", c.Create(t.Context(), other), catalog.ErrExists)
	wantRun(t, get(t, c, "a", 1), run)
}

func testCreateRefuses(t *testing.T, d Driver) {
	c := fresh(t, d)
	tests := []struct {
		name   string
		change func(*catalog.Run)
	}{
		{"empty id", func(r *catalog.Run) { r.ID = "" }},
		{"attempt 0", func(r *catalog.Run) { r.Attempt = 0 }},
		{"attempt -1", func(r *catalog.Run) { r.Attempt = -1 }},
		{"no time", func(r *catalog.Run) { r.CreatedAt = time.Time{} }},
		{"final state", func(r *catalog.Run) { r.State = outcome.Complete }},
		{"unknown state", func(r *catalog.Run) { r.State = "asleep" }},
		{"broken JSON", func(r *catalog.Run) { r.Request = json.RawMessage(`{`) }},
		{"no digest", func(r *catalog.Run) { r.Blobs = []string{"abc"} }},
		{"digest in upper case", func(r *catalog.Run) { r.Blobs = []string{"A" + digest("")[1:]} }},
		{"label that is no text", func(r *catalog.Run) { r.Labels = map[string]string{"k": "\xff"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := intent("a", 1)
			tt.change(&run)
			if err := c.Create(t.Context(), run); err == nil {
				t.Error("it was created")
			}
			runs, err := c.List(t.Context(), catalog.Filter{})
			must(t, err)
			if len(runs) != 0 {
				t.Errorf("%d runs are left", len(runs))
			}
		})
	}
}

func testUpdate(t *testing.T, d Driver) {
	c := fresh(t, d)
	want := intent("a", 1)
	want.State = outcome.Queued
	create(t, c, want)
	create(t, c, intent("b", 1)) // must not change

	change := catalog.Run{Key: want.Key, Outcome: outcome.Outcome{State: outcome.Running}, Host: "not replaced"}
	change.StartedAt, change.Place = created().Add(time.Second), json.RawMessage(`{"pid":7}`)
	must(t, c.Update(t.Context(), change))
	want.State, want.StartedAt, want.Place = change.State, change.StartedAt, change.Place
	wantRun(t, get(t, c, "a", 1), want)
	wantRun(t, get(t, c, "b", 1), intent("b", 1))

	must(t, c.Update(t.Context(), catalog.Run{Key: want.Key, Outcome: outcome.Outcome{State: outcome.Running}}))
	wantRun(t, get(t, c, "a", 1), want)

	change.State = outcome.Complete
	if err := c.Update(t.Context(), change); err == nil {
		t.Error("an update ended a run")
	}
	wantRun(t, get(t, c, "a", 1), want)

	change.State, change.Attempt = outcome.Running, 2
	wantError(t, "unknown attempt", c.Update(t.Context(), change), catalog.ErrNotFound)

	final := finish(t, c, intent("c", 1))
	change.Key = final.Key
	wantError(t, "ended run", c.Update(t.Context(), change), catalog.ErrNotFound)
	wantRun(t, get(t, c, "c", 1), final)
}
