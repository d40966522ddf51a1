package store

import (
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// giveUp drops the outputs of a run, and removes the blobs that nothing needs any more, as gc does.
func giveUp(t *testing.T, s Store, key catalog.Key, contents ...string) time.Time {
	t.Helper()
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	must(t, s.Catalog.DropOutputs(t.Context(), key, at))
	for _, text := range contents {
		_, err := s.Blobs.Remove(t.Context(), []cas.Found{{SHA256: digest(text)}}, time.Now())
		must(t, err)
	}
	return at
}

func wantKept(t *testing.T, s Store, key catalog.Key, pinned bool, removed time.Time) {
	t.Helper()
	run, err := s.Catalog.Get(t.Context(), key)
	must(t, err)
	if run.Pinned != pinned || !run.OutputsRemovedAt.Equal(removed) {
		t.Errorf("run %v is pinned: %v, its outputs were removed at %v; want %v, %v", key, run.Pinned, run.OutputsRemovedAt, pinned, removed)
	}
	if _, problems := check(t, s, true); len(problems) > 0 {
		t.Errorf("problems %q", problems)
	}
}

// Outputs whose contents were dropped are no problem, and are copied as such, with pins.
func TestCopyDroppedOutputs(t *testing.T) {
	from, to := fresh(t), fresh(t)
	a, b := finish(t, from, "a", 1, "one", "both"), finish(t, from, "b", 1, "both")
	must(t, from.Catalog.Pin(t.Context(), b.Key, true))
	at := giveUp(t, from, a.Key, "one")
	wantKept(t, from, a.Key, false, at)
	for range 2 { // the second finds all there
		_, err := Copy(t.Context(), from, to)
		must(t, err)
		wantSame(t, from, to, a.Key)
		wantKept(t, to, a.Key, false, at)
		wantKept(t, to, b.Key, true, time.Time{})
	}
}

// Outputs that were dropped between two copies into a catalog with the same store are dropped there too.
func TestDropBetweenCopies(t *testing.T) {
	from := fresh(t)
	a := finish(t, from, "a", 1, "one")
	to := Store{Catalog: openCatalog(t), Blobs: from.Blobs}
	first := copier{from: from, to: to, shared: true}
	must(t, first.run(t.Context(), a))
	at := giveUp(t, from, a.Key, "one")
	run, err := from.Catalog.Get(t.Context(), a.Key)
	must(t, err)
	second := copier{from: from, to: to, shared: true}
	must(t, second.run(t.Context(), run))
	there, err := to.Catalog.Get(t.Context(), a.Key)
	if err != nil || !there.OutputsRemovedAt.Equal(at) || second.done.Already != 1 {
		t.Errorf("run %+v, %v, done %+v", there, err, second.done)
	}
}
