package catalogtest

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func testPin(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := finish(t, c, intent("a", 1), file("f"))
	run.OutputsTotal = 1
	other := finish(t, c, intent("a", 2))
	running := create(t, c, intent("running", 1))
	born := intent("born", 1)
	born.Pinned = true
	create(t, c, born)
	wantRun(t, get(t, c, "born", 1), born)

	for range 2 { // the second changes nothing
		must(t, c.Pin(t.Context(), run.Key, true))
	}
	run.Pinned = true
	wantRun(t, get(t, c, "a", 1), run)
	wantRun(t, get(t, c, "a", 2), other)
	wantError(t, "Delete of a pinned run", c.Delete(t.Context(), run.Key), catalog.ErrPinned)
	wantError(t, "DropOutputs of a pinned run", c.DropOutputs(t.Context(), run.Key, created()), catalog.ErrPinned)
	wantRun(t, get(t, c, "a", 1), run)
	wantEntries(t, listing(t, c, run.Key), []outputs.Entry{file("f")})

	// A pin survives changes of the run.
	must(t, c.Pin(t.Context(), running.Key, true))
	must(t, c.Update(t.Context(), running))
	over := ended(running)
	must(t, c.Commit(t.Context(), over, from()))
	over.Pinned = true
	must(t, c.Amend(t.Context(), over))
	wantRun(t, get(t, c, "running", 1), over)

	must(t, c.Pin(t.Context(), run.Key, false))
	must(t, c.Delete(t.Context(), run.Key))
	for _, key := range []catalog.Key{run.Key, {ID: "a"}, {ID: "none", Attempt: 1}} {
		wantError(t, fmt.Sprint("Pin ", key), c.Pin(t.Context(), key, true), catalog.ErrNotFound)
	}
}

func testDropOutputs(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := finish(t, c, intent("a", 1), file("1"), file("2"), refused("3", outputs.Symlink, "-> 1"))
	run.OutputsTotal, run.RejectedTotal = 2, 1
	finish(t, c, intent("a", 2), file("2"))
	running := create(t, c, intent("running", 1))

	at := created().Add(time.Hour)
	must(t, c.DropOutputs(t.Context(), run.Key, at))
	must(t, c.DropOutputs(t.Context(), run.Key, at.Add(time.Hour)))
	run.OutputsRemovedAt = at
	wantRun(t, get(t, c, "a", 1), run)
	wantEntries(t, listing(t, c, run.Key), []outputs.Entry{file("1"), file("2"), refused("3", outputs.Symlink, "-> 1")})
	if got := get(t, c, "a", 2); !got.OutputsRemovedAt.IsZero() {
		t.Errorf("the other attempt's outputs were removed at %v", got.OutputsRemovedAt)
	}

	// Its logs and script are still needed, of its outputs only those of another run too.
	var needed []string
	must(t, c.Digests(t.Context(), func(sha256 string) bool { needed = append(needed, sha256); return true }))
	for text, want := range map[string]bool{"1": false, "2": true, "stdout of a": true, "script of a": true} {
		if slices.Contains(needed, digest(text)) != want {
			t.Errorf("Digests has %q: %v, want %v", text, !want, want)
		}
	}

	wantError(t, "a run that has not ended", c.DropOutputs(t.Context(), running.Key, at), catalog.ErrNotEnded)
	for _, key := range []catalog.Key{{ID: "a"}, {ID: "none", Attempt: 1}} {
		wantError(t, fmt.Sprint("DropOutputs ", key), c.DropOutputs(t.Context(), key, at), catalog.ErrNotFound)
	}

	copied := ended(create(t, c, intent("copied", 1)))
	copied.OutputsRemovedAt = at
	must(t, c.Commit(t.Context(), copied, from(file("only here"))))
	copied.OutputsTotal = 1
	wantRun(t, get(t, c, "copied", 1), copied)
	must(t, c.Digests(t.Context(), func(sha256 string) bool {
		if sha256 == digest("only here") {
			t.Error("Digests names a dropped output of a copy")
		}
		return true
	}))
	must(t, c.Delete(t.Context(), run.Key))
}

func testFindOutputs(t *testing.T, d Driver) {
	c := fresh(t, d)
	at := func(id string, attempt, minutes int) catalog.Run {
		run := intent(id, attempt)
		run.CreatedAt = created().Add(time.Duration(minutes) * time.Minute)
		run.Labels = map[string]string{"of": id, "attempt": strconv.Itoa(attempt)}
		return run
	}
	old := finish(t, c, at("old", 1, 0), file("b"), file("a"))
	create(t, c, at("running", 1, 1))
	finish(t, c, at("new", 1, 2), file("a"), refused("link", outputs.Symlink, "-> a"))
	finish(t, c, at("new", 2, 3), file("dir/\xff\n"))
	must(t, c.DropOutputs(t.Context(), old.Key, created()))

	newest, middle, a, b := "new@2 dir/\xff\n", "new@1 a", "old@1 a", "old@1 b"
	for _, tt := range []struct {
		name  string
		query catalog.OutputQuery
		want  []string
	}{
		{"all", catalog.OutputQuery{}, []string{newest, middle, a, b}},
		{"since", catalog.OutputQuery{Since: created().Add(2 * time.Minute)}, []string{newest, middle}},
		{"digest", catalog.OutputQuery{Digest: digest("a")}, []string{middle, a}},
		{"beginning of a digest", catalog.OutputQuery{Digest: digest("a")[:8]}, []string{middle, a}},
		{"digest, since", catalog.OutputQuery{Digest: digest("a"), Since: created().Add(time.Millisecond)}, []string{middle}},
		{"longer than a digest", catalog.OutputQuery{Digest: digest("a") + "0"}, nil},
		{"of a log", catalog.OutputQuery{Digest: digest("stdout of old")}, nil},
		{"none", catalog.OutputQuery{Since: created().Add(time.Hour)}, nil},
		{"label", catalog.OutputQuery{Labels: map[string]string{"of": "new"}}, []string{newest, middle}},
		{"two labels", catalog.OutputQuery{Labels: map[string]string{"of": "new", "attempt": "1"}}, []string{middle}},
		{"label and digest", catalog.OutputQuery{Labels: map[string]string{"of": "old"}, Digest: digest("a")}, []string{a}},
		{"label that nothing has", catalog.OutputQuery{Labels: map[string]string{"of": "\xff"}}, nil},
		{"states", catalog.OutputQuery{States: []outcome.State{outcome.Failed, outcome.Lost}}, []string{newest, middle, a, b}},
		{"another state", catalog.OutputQuery{States: []outcome.State{outcome.Complete}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			must(t, c.FindOutputs(t.Context(), tt.query, func(found catalog.FoundOutput) bool {
				run := get(t, c, found.ID, found.Attempt) // may use the catalog
				if found.CreatedAt != run.CreatedAt || found.OutputsRemovedAt != run.OutputsRemovedAt {
					t.Errorf("%+v of run %+v", found, run)
				}
				if !sameEntry(found.Entry, file(string(found.Path))) {
					t.Errorf("entry %+v", found.Entry)
				}
				got = append(got, fmt.Sprintf("%s@%d %s", found.ID, found.Attempt, found.Path))
				return true
			}))
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	count := 0
	must(t, c.FindOutputs(t.Context(), catalog.OutputQuery{}, func(catalog.FoundOutput) bool { count++; return false }))
	if count != 1 {
		t.Errorf("yield was called %d times after it returned false", count)
	}
}

func testFindManyOutputs(t *testing.T, d Driver) {
	const many = 5000
	c := fresh(t, d)
	run, i := ended(create(t, c, intent("a", 1))), 0
	must(t, c.Commit(t.Context(), run, func() (outputs.Entry, error) {
		if i == many {
			return from()()
		}
		i++
		return file(fmt.Sprintf("dir-%d/file-%05d", i%7, i)), nil
	}))
	finish(t, c, intent("b", 1), file("last of all"))
	count, last := 0, ""
	must(t, c.FindOutputs(t.Context(), catalog.OutputQuery{}, func(found catalog.FoundOutput) bool {
		if path := string(found.Path); count > 0 && (found.ID != "a" || count > 1 && path <= last) {
			t.Errorf("%s %q comes after %q", found.ID, path, last)
		} else {
			last = path
		}
		count++
		return !t.Failed()
	}))
	if count != many+1 {
		t.Errorf("%d outputs found, want %d", count, many+1)
	}
}
