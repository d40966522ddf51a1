package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openCatalog(t *testing.T) catalog.Database {
	t.Helper()
	c, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"))
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func openBlobs(t *testing.T) *blob.Store {
	t.Helper()
	s, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	must(t, err)
	return s
}

func fresh(t *testing.T) Store {
	t.Helper()
	s := Store{Catalog: openCatalog(t), Blobs: openBlobs(t)}
	id, err := s.Catalog.CatalogID(t.Context())
	must(t, err)
	must(t, s.Blobs.SetCatalogID(t.Context(), id))
	return s
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// publish makes blobs of texts.
func publish(t *testing.T, s *blob.Store, texts ...string) {
	t.Helper()
	ingest, err := s.NewIngest("test")
	must(t, err)
	for _, text := range texts {
		name, f, err := ingest.Create()
		must(t, err)
		_, err = f.WriteString(text)
		must(t, err)
		must(t, f.Close())
		must(t, ingest.Publish(name, digest(text)))
	}
	must(t, ingest.Sync())
	must(t, ingest.Close())
}

// begin creates a run, with a script.
func begin(t *testing.T, s Store, id string, attempt int) catalog.Run {
	t.Helper()
	script := "script of " + id
	publish(t, s.Blobs, script)
	run := catalog.Run{
		Key: catalog.Key{ID: id, Attempt: attempt}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: time.Date(2026, 3, 4, 5, 6, attempt, 0, time.UTC),
		Labels: map[string]string{"k": `odd "é" \`}, Request: json.RawMessage(`{ "a": "\u0000" }`), Place: json.RawMessage(`{"dir":"x"}`),
		Blobs: []string{digest(script)}, Host: "here", BootID: "boot", ToolVersion: "v1",
	}
	must(t, s.Catalog.Create(t.Context(), run))
	return run
}

// finish creates and ends a run with outputs of these contents, and one rejected entry.
func finish(t *testing.T, s Store, id string, attempt int, contents ...string) catalog.Run {
	t.Helper()
	run := begin(t, s, id, attempt)
	publish(t, s.Blobs, contents...)
	run.State, run.Reason, run.Message, run.ExitCode, run.Signal = outcome.Failed, "signal", "died\x00", 137, "SIGKILL"
	run.StartedAt, run.FinishedAt = run.CreatedAt.Add(time.Second), run.CreatedAt.Add(time.Minute)
	run.Report = json.RawMessage(`{"usage":{"wall_ms":1.0}}`)
	run.Events = []catalog.Event{
		{At: run.StartedAt, Kind: "connect", Address: []byte("\x00\xff"), Severity: "high", Blocked: true, Count: 3},
		{At: run.StartedAt, Kind: "again", Severity: "low", Count: 1},
	}
	next := 0
	must(t, s.Catalog.Commit(t.Context(), run, func() (outputs.Entry, error) {
		next++
		switch {
		case next <= len(contents):
			text := contents[next-1]
			return outputs.Entry{Path: fmt.Appendf(nil, "%d\n\xff", next), Size: int64(len(text)), SHA256: digest(text), MediaType: "text/plain", Mode: 0o640}, nil
		case next == len(contents)+1:
			return outputs.Entry{Path: []byte("z"), Rejected: outputs.Symlink, Detail: []byte("-> \xff")}, nil
		}
		return outputs.Entry{}, io.EOF
	}))
	return run
}

// wantSame compares two catalogs by what they say of a run.
func wantSame(t *testing.T, a, b Store, key catalog.Key) {
	t.Helper()
	ours, _, err := digestOf(t.Context(), a.Catalog, key)
	must(t, err)
	theirs, _, err := digestOf(t.Context(), b.Catalog, key)
	must(t, err)
	if ours != theirs {
		t.Errorf("run %v differs", key)
	}
}

func check(t *testing.T, s Store, digests bool) (Report, []string) {
	t.Helper()
	var problems []string
	report, err := s.Check(t.Context(), Options{Host: "here", Digests: digests, Problem: func(key catalog.Key, what string) {
		problems = append(problems, key.ID+": "+what)
	}})
	must(t, err)
	if int64(len(problems)) != report.Problems {
		t.Errorf("%d problems were told of, %d counted", len(problems), report.Problems)
	}
	return report, problems
}

func TestCheck(t *testing.T) {
	s := fresh(t)
	finish(t, s, "a", 1, "one", "two")
	finish(t, s, "b", 1, "two", "three")
	publish(t, s.Blobs, "nobody's")
	report, _ := check(t, s, true)
	if report.Runs != 2 || report.References != 6 || report.Verified != 5 || report.Problems != 0 || report.Orphans != 1 || report.OrphanBytes != 8 {
		t.Errorf("report %+v", report)
	}

	path := func(text string) string {
		p, err := s.Blobs.Path(digest(text))
		must(t, err)
		must(t, os.Chmod(p, 0o600))
		return p
	}
	must(t, os.Remove(path("one")))
	must(t, os.WriteFile(path("two"), []byte("longer"), 0o600))
	must(t, os.WriteFile(path("three"), []byte("THREE"), 0o600)) // of the right size
	must(t, os.Remove(path("script of b")))
	report, problems := check(t, s, false)
	if report.Problems != 4 {
		t.Errorf("problems %q", problems)
	}
	for _, want := range []string{`a: output 1\n\xff: blob ` + digest("one") + " is missing", "has 6 bytes, not 3", "b: a log or the script: blob " + digest("script of b")} {
		if !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("problems %q do not say %q", problems, want)
		}
	}
	if report, problems = check(t, s, true); report.Problems != 5 || !strings.Contains(strings.Join(problems, "\n"), digest("three")+": blob is corrupt") {
		t.Errorf("problems %q", problems)
	}
}

// Blobs that another host has in its own store do not count as missing.
func TestCheckOtherHosts(t *testing.T) {
	s := fresh(t)
	finish(t, s, "a", 1, "one")
	p, err := s.Blobs.Path(digest("one"))
	must(t, err)
	must(t, os.Remove(p))
	report, err := s.Check(t.Context(), Options{Host: "there", Problem: func(_ catalog.Key, what string) { t.Error(what) }})
	if err != nil || report.Elsewhere != 1 || report.Problems != 0 {
		t.Errorf("report %+v, %v", report, err)
	}
	foreign := Store{Catalog: openCatalog(t), Blobs: s.Blobs}
	if _, err := foreign.Check(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "belong together") {
		t.Errorf("another catalog's blobs: error = %v", err)
	}
}

func TestCopyToAnotherStore(t *testing.T) {
	from, to := fresh(t), Store{Catalog: openCatalog(t), Blobs: openBlobs(t)}
	a, b := finish(t, from, "a", 1, "one", "two"), finish(t, from, "a", 2, "two", "three")
	open := begin(t, from, "open", 3)
	for round, want := range []Copied{{Runs: 2, Outputs: 6, Blobs: 4}, {Already: 2, Outputs: 6}} {
		got, err := Copy(t.Context(), from, to)
		must(t, err)
		if got.Runs != want.Runs || got.Already != want.Already || got.Outputs != want.Outputs || got.Blobs != want.Blobs ||
			got.TookOver || len(got.NotEnded) != 1 || got.NotEnded[0] != open.Key {
			t.Errorf("round %d: %+v", round, got)
		}
	}
	wantSame(t, from, to, a.Key)
	wantSame(t, from, to, b.Key)
	if report, problems := check(t, to, true); report.Problems != 0 || report.Verified != 4 || report.Orphans != 0 {
		t.Errorf("the copy: %+v, %q", report, problems)
	}
	if _, err := from.Check(t.Context(), Options{Host: "here"}); err != nil { // stays in use
		t.Error(err)
	}
}

// TestCopySelftests: of equal reports as many are copied as are missing.
func TestCopySelftests(t *testing.T) {
	from, to := openCatalog(t), openCatalog(t)
	report := catalog.Selftest{At: time.Unix(1000, 0).UTC(), Host: "here", Report: []byte(`{}`)}
	must(t, to.AddSelftest(t.Context(), report))
	for range 3 {
		must(t, from.AddSelftest(t.Context(), report))
	}
	for _, want := range []int64{2, 0} {
		if got, err := CopySelftests(t.Context(), from, to); err != nil || got != want {
			t.Errorf("%d copied (%v), want %d", got, err, want)
		}
	}
	if there, err := to.Selftests(t.Context(), 0); err != nil || len(there) != 3 {
		t.Errorf("%d reports are there (%v)", len(there), err)
	}
}

// collected is a catalog with a gc of its store that has seen no row and runs just before a commit.
type collected struct {
	catalog.Catalog
	blobs *blob.Store
}

func (c collected) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	lock, err := os.Open(filepath.Join(c.blobs.Dir(), "sha256"))
	if err != nil {
		return err
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		var all []cas.Found
		err := c.blobs.Walk(ctx, nil, func(f cas.Found) bool { all = append(all, f); return true })
		if _, failed := c.blobs.Remove(ctx, all, time.Now()); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	return c.Catalog.Commit(ctx, run, next)
}

// Blobs that are found in the other store, and that no row names yet, stay until rows do.
func TestCopyFindsBlobs(t *testing.T) {
	from, to := fresh(t), fresh(t)
	run := finish(t, from, "a", 1, "one")
	publish(t, to.Blobs, "one", "script of a")
	to.Catalog = collected{to.Catalog, to.Blobs}
	copied, err := Copy(t.Context(), from, to)
	if err != nil || copied.Runs != 1 || copied.Blobs != 0 {
		t.Fatalf("copied %+v, %v", copied, err)
	}
	if report, problems := check(t, to, true); report.Problems != 0 {
		t.Errorf("the copy of %v: %+v, %q", run.Key, report, problems)
	}
}

func TestCopyHandsTheStoreOver(t *testing.T) {
	from := fresh(t)
	to := Store{Catalog: openCatalog(t), Blobs: from.Blobs}
	run := finish(t, from, "a", 1, "one")
	open := begin(t, from, "open", 1)
	if _, err := Copy(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "open@1") {
		t.Fatalf("with a run under way: error = %v", err)
	}
	must(t, from.Catalog.Commit(t.Context(), ended(open), func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }))
	for range 2 {
		copied, err := Copy(t.Context(), from, to)
		if err != nil || !copied.TookOver || copied.Runs+copied.Already != 2 {
			t.Fatalf("copied %+v, %v", copied, err)
		}
	}
	wantSame(t, from, to, run.Key)
	if report, problems := check(t, to, true); report.Problems != 0 || report.Orphans != 0 {
		t.Errorf("the copy: %+v, %q", report, problems)
	}
	if _, err := from.Check(t.Context(), Options{}); err == nil {
		t.Error("the old catalog still takes the store for its own")
	}
	// And back.
	if copied, err := Copy(t.Context(), to, from); err != nil || !copied.TookOver || copied.Already != 2 {
		t.Errorf("back: %+v, %v", copied, err)
	}
	check(t, from, true)
}

// growing is a catalog in which a run ends between two listings.
type growing struct {
	catalog.Catalog
	lists *int
	grow  func()
}

func (c growing) List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	if *c.lists++; *c.lists == 2 {
		c.grow()
	}
	return c.Catalog.List(ctx, filter)
}

// A store is not handed over while runs end in the old catalog: the new one would not have them.
func TestCopyWhileRunsEnd(t *testing.T) {
	from := fresh(t)
	to := Store{Catalog: openCatalog(t), Blobs: from.Blobs}
	finish(t, from, "a", 1, "one")
	moving := Store{growing{from.Catalog, new(int), func() {
		run := catalog.Run{
			Key: catalog.Key{ID: "b", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
			Request: json.RawMessage(`{}`), Host: "here", BootID: "boot", ToolVersion: "v1",
		}
		must(t, from.Catalog.Create(t.Context(), run))
		must(t, from.Catalog.Commit(t.Context(), ended(run), func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }))
	}}, from.Blobs}
	if copied, err := Copy(t.Context(), moving, to); err == nil || !strings.Contains(err.Error(), "meanwhile") || copied.TookOver {
		t.Errorf("copied %+v, %v", copied, err)
	}
	if copied, err := Copy(t.Context(), from, to); err != nil || !copied.TookOver {
		t.Errorf("again: copied %+v, %v", copied, err)
	}
}

func ended(run catalog.Run) catalog.Run {
	run.State, run.FinishedAt = outcome.Complete, run.CreatedAt.Add(time.Minute)
	return run
}

// A copy that was cut short between the intent and the end of a run is finished by the next.
func TestCopyGoesOn(t *testing.T) {
	from, to := fresh(t), Store{Catalog: openCatalog(t), Blobs: openBlobs(t)}
	run := finish(t, from, "a", 1, "one")
	must(t, to.Catalog.Create(t.Context(), Intent(run)))
	copied, err := Copy(t.Context(), from, to)
	if err != nil || copied.Runs != 1 {
		t.Fatalf("copied %+v, %v", copied, err)
	}
	wantSame(t, from, to, run.Key)
}

func TestCopyRefuses(t *testing.T) {
	t.Run("itself", func(t *testing.T) {
		s := fresh(t)
		if _, err := Copy(t.Context(), s, s); err == nil || !strings.Contains(err.Error(), "one catalog") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("another run of the key", func(t *testing.T) {
		from, to := fresh(t), fresh(t)
		finish(t, from, "a", 1, "one")
		finish(t, to, "a", 1, "two")
		if _, err := Copy(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "is another one") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("a blob is missing", func(t *testing.T) {
		from, to := fresh(t), fresh(t)
		finish(t, from, "a", 1, "one")
		p, err := from.Blobs.Path(digest("one"))
		must(t, err)
		must(t, os.Remove(p))
		if _, err := Copy(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "has no blob "+digest("one")) {
			t.Errorf("error = %v", err)
		}
		wantNothing(t, to)
	})
	t.Run("a blob is damaged", func(t *testing.T) {
		from, to := fresh(t), fresh(t)
		finish(t, from, "a", 1, "one")
		p, err := from.Blobs.Path(digest("one"))
		must(t, err)
		must(t, os.Chmod(p, 0o600))
		must(t, os.WriteFile(p, []byte("ONE"), 0o600))
		if _, err := Copy(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "corrupt") {
			t.Errorf("error = %v", err)
		}
		wantNothing(t, to)
	})
	t.Run("another catalog's store", func(t *testing.T) {
		from, to := fresh(t), fresh(t)
		if _, err := Copy(t.Context(), Store{openCatalog(t), from.Blobs}, to); err == nil || !strings.Contains(err.Error(), "give the blob store of --from") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		from, to := fresh(t), fresh(t)
		finish(t, from, "a", 1, "one")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Copy(ctx, from, to); err == nil {
			t.Error("it was copied")
		}
	})
}

func wantNothing(t *testing.T, s Store) {
	t.Helper()
	runs, err := s.Catalog.List(t.Context(), catalog.Filter{})
	if err != nil || len(runs) != 0 {
		t.Errorf("%d runs are there, %v", len(runs), err)
	}
}

func TestCopyIsDurable(t *testing.T) {
	from, to := fresh(t), fresh(t)
	finish(t, from, "a", 1, "one", "two")
	durable.Check(t, func() error {
		_, err := Copy(t.Context(), from, to)
		return err
	})
}
