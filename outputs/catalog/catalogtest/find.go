package catalogtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func testGet(t *testing.T, d Driver) {
	c := fresh(t, d)
	for _, attempt := range []int{1, 2, 10} {
		create(t, c, intent("a", attempt))
	}
	create(t, c, intent("ab", 11))
	for attempt, want := range map[int]int{0: 10, 1: 1, 2: 2, 10: 10} {
		if got := get(t, c, "a", attempt); got.ID != "a" || got.Attempt != want {
			t.Errorf("Get attempt %d = %v, want attempt %d", attempt, got.Key, want)
		}
	}
	for _, key := range []catalog.Key{{ID: "a", Attempt: 3}, {ID: "a", Attempt: -1}, {ID: "A"}, {ID: "x"}, {ID: ""}} {
		_, err := c.Get(t.Context(), key)
		wantError(t, fmt.Sprint(key), err, catalog.ErrNotFound)
	}
}

func testFind(t *testing.T, d Driver) {
	c := fresh(t, d)
	for _, key := range []catalog.Key{
		{ID: "run", Attempt: 1},
		{ID: "run", Attempt: 2},
		{ID: "run-long", Attempt: 1},
		{ID: "a_b", Attempt: 1},
		{ID: "axb", Attempt: 1},
		{ID: "a.b", Attempt: 1},
		{ID: "B", Attempt: 1},
		{ID: "two.x", Attempt: 1},
		{ID: "two.x", Attempt: 2},
	} {
		create(t, c, intent(key.ID, key.Attempt))
	}
	tests := []struct {
		name string
		want string // ID@ATTEMPT, or empty for ErrNotFound
	}{
		{"run", "run@2"}, // an exact id before longer ones
		{"run@1", "run@1"},
		{"run@2", "run@2"},
		{"run@3", ""},
		{"run-", "run-long@1"},
		{"run-l@1", "run-long@1"},
		{"run-long", "run-long@1"},
		{"run-longer", ""},
		{"a_", "a_b@1"}, // no wildcard
		{"a.", "a.b@1"},
		{"a%", ""},
		{"a*", ""},
		{"%", ""},
		{"_", ""},
		{"ax", "axb@1"},
		{"RUN", ""}, // case counts
		{"b", ""},
		{"B", "B@1"},
		{"two", "two.x@2"}, // one id, several attempts
		{"two@1", "two.x@1"},
		{"two@0", ""},
		{"two@", ""},
		{"two@x", ""},
		{"", ""},
		{"@", ""},
		{"'; DROP TABLE analysis_run; --", ""},
		{"\xff", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run, err := c.Find(t.Context(), tt.name)
			if tt.want == "" {
				wantError(t, tt.name, err, catalog.ErrNotFound)
				return
			}
			must(t, err)
			if got := fmt.Sprintf("%s@%d", run.ID, run.Attempt); got != tt.want {
				t.Errorf("Find = %s, want %s", got, tt.want)
			}
		})
	}
}

func testFindAmbiguous(t *testing.T, d Driver) {
	c := fresh(t, d)
	create(t, c, intent("p1", 1))
	create(t, c, intent("p1", 2))
	create(t, c, intent("p2", 1))
	_, err := c.Find(t.Context(), "p")
	wantError(t, "two ids", err, catalog.ErrAmbiguous)
	for _, id := range []string{"p1", "p2"} {
		if err != nil && strings.Count(err.Error(), id) != 1 {
			t.Errorf("%q does not name %q once", err, id)
		}
	}
	for _, id := range []string{"p3", "p4", "p5", "p6", "p7"} {
		create(t, c, intent(id, 1))
	}
	_, err = c.Find(t.Context(), "p@1")
	wantError(t, "seven ids", err, catalog.ErrAmbiguous)
	if err != nil && (!strings.Contains(err.Error(), "p5") || strings.Contains(err.Error(), "p6")) {
		t.Errorf("%q does not name five ids", err)
	}
}

func testFindLast(t *testing.T, d Driver) {
	c := fresh(t, d)
	_, err := c.Find(t.Context(), "@last")
	wantError(t, "empty catalog", err, catalog.ErrNotFound)
	for i, id := range []string{"b", "c", "a"} {
		run := intent(id, 1)
		run.CreatedAt = created().Add(time.Duration(i%2) * time.Millisecond)
		create(t, c, run)
	}
	run, err := c.Find(t.Context(), "@last")
	must(t, err)
	if run.ID != "c" {
		t.Errorf("@last = %q, want c", run.ID)
	}
}

func testList(t *testing.T, d Driver) {
	c := fresh(t, d)
	must := func(err error) { t.Helper(); must(t, err) }
	make := func(id string, attempt, minute int, host string, labels map[string]string) catalog.Run {
		run := intent(id, attempt)
		run.CreatedAt, run.Host, run.Labels = created().Add(time.Duration(minute)*time.Minute), host, labels
		must(c.Create(t.Context(), run))
		return run
	}
	end := func(run catalog.Run, state outcome.State, reason outcome.Reason) {
		run.State, run.Reason = state, reason
		must(c.Commit(t.Context(), run, from()))
	}
	end(make("a", 1, 0, "h1", map[string]string{"p": "x", "q": "1"}), outcome.Failed, "exit")
	end(make("a", 2, 3, "h1", map[string]string{"p": "x", "q": "2"}), outcome.Complete, "exit")
	end(make("b", 1, 1, "h2", map[string]string{"p": "y"}), outcome.Failed, "timeout")
	make("c", 1, 2, "h2", nil)

	at := func(minute int) time.Time { return created().Add(time.Duration(minute) * time.Minute) }
	tests := []struct {
		name   string
		filter catalog.Filter
		want   string
	}{
		{"all, newest first", catalog.Filter{}, "a@2 c@1 b@1 a@1"},
		{"limit", catalog.Filter{Limit: 2}, "a@2 c@1"},
		{"since", catalog.Filter{Since: at(1)}, "a@2 c@1 b@1"},
		{"until", catalog.Filter{Until: at(1)}, "a@1"},
		{"since and until", catalog.Filter{Since: at(1), Until: at(3)}, "c@1 b@1"},
		{"since in another zone", catalog.Filter{Since: at(2).In(time.FixedZone("west", -7200))}, "a@2 c@1"},
		{"one state", catalog.Filter{States: []outcome.State{outcome.Running}}, "c@1"},
		{"two states", catalog.Filter{States: []outcome.State{outcome.Running, outcome.Complete}}, "a@2 c@1"},
		{"reason", catalog.Filter{Reasons: []outcome.Reason{"timeout", "signal"}}, "b@1"},
		{"label", catalog.Filter{Labels: map[string]string{"p": "x"}}, "a@2 a@1"},
		{"two labels", catalog.Filter{Labels: map[string]string{"p": "x", "q": "1"}}, "a@1"},
		{"label that nothing can have", catalog.Filter{Labels: map[string]string{"p": "\xff"}}, ""},
		{"label of another key", catalog.Filter{Labels: map[string]string{"q": "x"}}, ""},
		{"last attempts", catalog.Filter{Last: true}, "a@2 c@1 b@1"},
		{"last attempts of a state", catalog.Filter{Last: true, States: []outcome.State{outcome.Failed}}, "b@1"},
		{"last attempts with a label of an earlier one", catalog.Filter{Last: true, Labels: map[string]string{"q": "1"}}, ""},
		{"host", catalog.Filter{Host: "h2"}, "c@1 b@1"},
		{"id", catalog.Filter{ID: "a"}, "a@2 a@1"},
		{"id is no prefix", catalog.Filter{ID: ""}, "a@2 c@1 b@1 a@1"},
		{"text", catalog.Filter{Text: "b"}, "b@1"},
		{"text is no pattern", catalog.Filter{Text: "%"}, ""},
		{"text that nothing can have", catalog.Filter{Text: "\xff\x00"}, ""},
		{"after one", catalog.Filter{After: catalog.Mark{CreatedAt: at(2), Key: catalog.Key{ID: "c", Attempt: 1}}}, "b@1 a@1"},
		{"after one of the same time", catalog.Filter{After: catalog.Mark{CreatedAt: at(2), Key: catalog.Key{ID: "d", Attempt: 1}}}, "c@1 b@1 a@1"},
		{"after a later attempt", catalog.Filter{After: catalog.Mark{CreatedAt: at(2), Key: catalog.Key{ID: "c", Attempt: 2}}, Limit: 1}, "c@1"},
		{"after the last", catalog.Filter{After: catalog.Mark{CreatedAt: at(0), Key: catalog.Key{ID: "a", Attempt: 1}}}, ""},
		{"after one, of a state", catalog.Filter{After: catalog.Mark{CreatedAt: at(2), Key: catalog.Key{ID: "c", Attempt: 1}}, States: []outcome.State{outcome.Failed}, Limit: 1}, "b@1"},
		{"after one, in another zone", catalog.Filter{After: catalog.Mark{CreatedAt: at(1).In(time.FixedZone("west", -7200)), Key: catalog.Key{ID: "b", Attempt: 1}}}, "a@1"},
		{"all together", catalog.Filter{
			Since: at(0), Until: at(9), States: []outcome.State{outcome.Failed}, Reasons: []outcome.Reason{"exit"},
			Labels: map[string]string{"p": "x"}, Host: "h1", ID: "a", Limit: 5,
		}, "a@1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runs, err := c.List(t.Context(), tt.filter)
			must(err)
			var got []string
			for _, run := range runs {
				got = append(got, fmt.Sprintf("%s@%d", run.ID, run.Attempt))
			}
			if want := strings.Fields(tt.want); !slices.Equal(got, want) {
				t.Errorf("List = %v, want %v", got, want)
			}
		})
	}
	runs, err := c.List(t.Context(), catalog.Filter{ID: "a"})
	must(err)
	wantRun(t, runs[0], get(t, c, "a", 2)) // whole rows
}

// Runs created in the same millisecond have one order, by id and attempt, so that a reader of pages gets each run once.
func testListOfOneMoment(t *testing.T, d Driver) {
	c := fresh(t, d)
	for _, attempt := range []int{2, 1, 3} { // not in the order of the list
		for _, id := range []string{"b", "a"} {
			create(t, c, intent(id, attempt))
		}
	}
	var whole, paged []string
	runs, err := c.List(t.Context(), catalog.Filter{})
	must(t, err)
	for _, run := range runs {
		whole = append(whole, fmt.Sprintf("%s@%d", run.ID, run.Attempt))
	}
	if want := strings.Fields("b@3 b@2 b@1 a@3 a@2 a@1"); !slices.Equal(whole, want) {
		t.Errorf("List = %v, want %v", whole, want)
	}
	page := catalog.Filter{Limit: 1}
	for range len(whole) + 1 {
		runs, err := c.List(t.Context(), page)
		must(t, err)
		for _, run := range runs {
			paged = append(paged, fmt.Sprintf("%s@%d", run.ID, run.Attempt))
			page.After = catalog.Mark{CreatedAt: run.CreatedAt, Key: run.Key}
		}
	}
	if !slices.Equal(paged, whole) {
		t.Errorf("page by page it is %v, and at once %v", paged, whole)
	}
}
