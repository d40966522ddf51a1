package catalogtest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func testDelete(t *testing.T, d Driver) {
	c := fresh(t, d)
	run := create(t, c, intent("a", 1))
	wantError(t, "a running run", c.Delete(t.Context(), run.Key), catalog.ErrNotEnded)
	wantRun(t, get(t, c, "a", 1), run)
	must(t, c.Commit(t.Context(), ended(run), from(file("1"))))
	kept := finish(t, c, intent("a", 2), file("1"))

	wantError(t, "no attempt named", c.Delete(t.Context(), catalog.Key{ID: "a"}), catalog.ErrNotFound)
	must(t, c.Delete(t.Context(), run.Key))
	wantError(t, "a second time", c.Delete(t.Context(), run.Key), catalog.ErrNotFound)
	_, err := c.Get(t.Context(), run.Key)
	wantError(t, "get", err, catalog.ErrNotFound)
	_, err = collect(t.Context(), c, run.Key)
	wantError(t, "outputs", err, catalog.ErrNotFound)
	wantEntries(t, listing(t, c, kept.Key), []outputs.Entry{file("1")})

	// The key is free again, and no data of the old run is left.
	again := intent("a", 1)
	again.Labels, again.Blobs = nil, nil
	create(t, c, again)
	wantRun(t, get(t, c, "a", 1), again)
	wantEntries(t, listing(t, c, again.Key), nil)
}

func testCatalogID(t *testing.T, d Driver) {
	address := d.Empty(t)
	first := catalogID(t, opened(t, d, address))
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(first) {
		t.Errorf("catalog id %q is not 32 hexadecimal digits", first)
	}
	if again := catalogID(t, opened(t, d, address)); again != first {
		t.Errorf("another handle says %q, the first said %q", again, first)
	}
	if other := catalogID(t, fresh(t, d)); other == first {
		t.Errorf("two catalogs have the id %q", other)
	}
}

func catalogID(t *testing.T, c catalog.Catalog) string {
	t.Helper()
	id, err := c.CatalogID(t.Context())
	must(t, err)
	return id
}

func testClose(t *testing.T, d Driver) {
	address := d.Empty(t)
	c, err := d.Open(t.Context(), address)
	must(t, err)
	run := finish(t, c, intent("a", 1), file("1"))
	must(t, c.Close())
	must(t, c.Close())
	if err := c.Create(t.Context(), intent("b", 1)); err == nil {
		t.Error("a closed handle created a run")
	}
	if _, err := c.Get(t.Context(), run.Key); err == nil || errors.Is(err, catalog.ErrNotFound) {
		t.Errorf("Get through a closed handle: error = %v, want one that is not ErrNotFound", err)
	}
	wantEntries(t, listing(t, opened(t, d, address), run.Key), []outputs.Entry{file("1")})
}

// testHandles uses separate and shared handles in goroutines.
func testHandles(t *testing.T, d Driver) {
	const committers, each = 8, 6
	address := d.Empty(t)
	shared := opened(t, d, address)
	together(t, committers, func(i int) error {
		c := shared
		if i%2 == 0 {
			c = opened(t, d, address)
		}
		return commitSome(t.Context(), c, fmt.Sprint("run-", i), each)
	})
	wantCommitted(t, shared, committers*each)
}

func testHandlesCreateOneRun(t *testing.T, d Driver) {
	address := d.Empty(t)
	c := opened(t, d, address)
	var mu sync.Mutex
	var won []string
	together(t, 8, func(i int) error {
		run := intent("a", 1)
		run.Host = fmt.Sprint("host-", i)
		err := opened(t, d, address).Create(t.Context(), run)
		if errors.Is(err, catalog.ErrExists) {
			return nil
		}
		mu.Lock()
		won = append(won, run.Host)
		mu.Unlock()
		return err
	})
	if run := get(t, c, "a", 1); !slices.Equal(won, []string{run.Host}) {
		t.Errorf("created by %v, the row is of %s", won, run.Host)
	}
}

func testHandlesCommitOneRun(t *testing.T, d Driver) {
	address := d.Empty(t)
	c := opened(t, d, address)
	run := ended(create(t, c, intent("a", 1)))
	together(t, 8, func(i int) error {
		mine := run
		mine.Message = fmt.Sprint("by ", i)
		return opened(t, d, address).Commit(t.Context(), mine, from(file(mine.Message)))
	})
	got := get(t, c, "a", 1)
	wantEntries(t, listing(t, c, run.Key), []outputs.Entry{file(got.Message)}) // one, whole
}

// together runs do in n goroutines and reports their errors.
func together(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
}

// perRun is the outputs of commitSome's runs.
const perRun = 25

// commitSome makes n runs and ends each.
func commitSome(ctx context.Context, c catalog.Catalog, name string, n int) error {
	for i := range n {
		if err := commitOne(ctx, c, fmt.Sprintf("%s-%d", name, i)); err != nil {
			return err
		}
	}
	return nil
}

func commitOne(ctx context.Context, c catalog.Catalog, id string) error {
	run := intent(id, 1)
	if err := c.Create(ctx, run); err != nil {
		return err
	}
	if err := c.Update(ctx, run); err != nil {
		return err
	}
	entries := make([]outputs.Entry, perRun)
	for i := range entries {
		entries[i] = file(fmt.Sprintf("%s/%d", id, i))
	}
	run = ended(run)
	run.Events = someSeen(id)
	return c.Commit(ctx, run, from(entries...))
}

// someSeen are the events of a run of commitSome.
func someSeen(id string) []catalog.Event {
	return []catalog.Event{seen(1, "connect", id), seen(1, "socket", id), seen(2, "limit", id)}
}

// wantCommitted checks that commitSome's runs are complete.
func wantCommitted(t *testing.T, c catalog.Catalog, n int) {
	t.Helper()
	runs, err := c.List(t.Context(), catalog.Filter{})
	must(t, err)
	if len(runs) != n {
		t.Errorf("%d runs, want %d", len(runs), n)
	}
	for _, run := range runs {
		wantWhole(t, c, run)
	}
}

func wantWhole(t *testing.T, c catalog.Catalog, run catalog.Run) {
	t.Helper()
	entries := listing(t, c, run.Key)
	if run.State != outcome.Failed || run.OutputsTotal != perRun || len(entries) != perRun {
		t.Errorf("run %s: state %s, %d outputs of %d, want %d", run.ID, run.State, len(entries), run.OutputsTotal, perRun)
	}
	wantEvents(t, c, run.Key, someSeen(run.ID)...)
	for _, entry := range entries {
		if !strings.HasPrefix(string(entry.Path), run.ID+"/") {
			t.Errorf("run %s has the output %q", run.ID, entry.Path)
		}
	}
}
