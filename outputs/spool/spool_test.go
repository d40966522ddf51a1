package spool

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
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fresh(t *testing.T) store.Store {
	t.Helper()
	dir := t.TempDir()
	c, err := sqlite.Open(t.Context(), filepath.Join(dir, "catalog.db"))
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	must(t, err)
	return store.Store{Catalog: c, Blobs: blobs}
}

func fill(t *testing.T) Spool {
	t.Helper()
	s, err := Make(t.TempDir())
	must(t, err)
	return s
}

// commit commits the n-th result, which must have the key then.
func commit(t *testing.T, s Spool, n int, key catalog.Key, to store.Store) {
	t.Helper()
	if got, err := s.Commit(t.Context(), n, key, to); err != nil || got != key {
		t.Fatalf("committed as %v, %v", got, err)
	}
}

var theKey = catalog.Key{ID: "a", Attempt: 3} // in the catalog; on the node it is the first

// node is a run that has ended on a node, with one output, one rejected entry and a log.
func node(t *testing.T, host string) Source {
	t.Helper()
	s := fresh(t)
	ingest, err := s.Blobs.NewIngest("test")
	must(t, err)
	for _, text := range []string{"output", "log"} {
		name, f, err := ingest.Create()
		must(t, err)
		_, err = f.WriteString(text)
		must(t, errors.Join(err, f.Close(), ingest.Publish(name, digest(text))))
	}
	must(t, errors.Join(ingest.Sync(), ingest.Close()))
	run := catalog.Run{
		Key: catalog.Key{ID: "a", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: time.Now().UTC(), Host: host,
		Request: json.RawMessage(`{}`), Place: json.RawMessage(`{}`), Report: json.RawMessage(`{"enforced":[]}`),
	}
	must(t, s.Catalog.Create(t.Context(), run))
	run.State, run.Reason, run.FinishedAt, run.Blobs = outcome.Complete, "exit", run.CreatedAt.Add(time.Second), []string{digest("log")}
	run.Events = []catalog.Event{{At: run.CreatedAt, Kind: "connect", Address: []byte("x"), Severity: "low", Blocked: true, Count: 1}}
	entries := []outputs.Entry{{Path: []byte("out\xff"), Size: 6, SHA256: digest("output"), Mode: 0o644}, {Path: []byte("link"), Rejected: outputs.Symlink}}
	must(t, s.Catalog.Commit(t.Context(), run, func() (outputs.Entry, error) {
		if len(entries) == 0 {
			return outputs.Entry{}, io.EOF
		}
		e := entries[0]
		entries = entries[1:]
		return e, nil
	}))
	return Source{s, run.Key}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// want checks that the catalog has the one run, whole.
func want(t *testing.T, to store.Store, state outcome.State) {
	t.Helper()
	runs, err := to.Catalog.List(t.Context(), catalog.Filter{})
	must(t, err)
	if len(runs) != 1 || runs[0].Key != theKey || runs[0].State != state {
		t.Fatalf("the catalog has %+v", runs)
	}
	if state == outcome.Complete && (runs[0].OutputsTotal != 1 || runs[0].RejectedTotal != 1) {
		t.Errorf("outputs %d, rejected %d", runs[0].OutputsTotal, runs[0].RejectedTotal)
	}
	report, err := to.Check(t.Context(), store.Options{Digests: true, Problem: func(_ catalog.Key, what string) { t.Error(what) }})
	if err != nil || report.Problems != 0 {
		t.Errorf("check: %+v, %v", report, err)
	}
}

func TestDeliverAndCommit(t *testing.T) {
	s, from, to := fill(t), node(t, "n1"), fresh(t)
	must(t, s.Deliver(t.Context(), 7, from, theKey))
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := s.Commit(t.Context(), 7, theKey, to)
			errs <- err
		}()
	}
	for range 4 {
		must(t, <-errs)
	}
	commit(t, s, 7, theKey, to)
	want(t, to, outcome.Complete)
	events, err := to.Catalog.Events(t.Context(), theKey)
	if err != nil || len(events) != 1 {
		t.Errorf("events %v, %v", events, err)
	}
	if done, err := s.Collected(7); err != nil || !done {
		t.Errorf("collected: %v, %v", done, err)
	}
}

// cut is a catalog whose client is killed right before or after its n-th write.
type cut struct {
	catalog.Catalog
	before, after int
	n             *int
}

var errKilled = errors.New("killed")

func (c cut) write(do func() error) error {
	*c.n++
	if *c.n == c.before {
		return errKilled
	}
	if err := do(); err != nil || *c.n != c.after {
		return err
	}
	return errKilled
}

func (c cut) Create(ctx context.Context, run catalog.Run) error {
	return c.write(func() error { return c.Catalog.Create(ctx, run) })
}

func (c cut) Commit(ctx context.Context, run catalog.Run, next func() (outputs.Entry, error)) error {
	return c.write(func() error { return c.Catalog.Commit(ctx, run, next) })
}

// TestCommitCutShort cuts a commit short around each of its writes; the next one finishes it.
func TestCommitCutShort(t *testing.T) {
	for n := 1; n <= 2; n++ {
		for _, c := range []cut{{before: n}, {after: n}} {
			s, to := fill(t), fresh(t)
			must(t, s.Deliver(t.Context(), 1, node(t, "n1"), theKey))
			c.Catalog, c.n = to.Catalog, new(int)
			if _, err := s.Commit(t.Context(), 1, theKey, store.Store{Catalog: c, Blobs: to.Blobs}); !errors.Is(err, errKilled) {
				t.Fatalf("write %d: %v", n, err)
			}
			if done, _ := s.Collected(1); done {
				t.Error("it is noted as collected")
			}
			commit(t, s, 1, theKey, to)
			want(t, to, outcome.Complete)
		}
	}
}

// TestTorn damages what is in the spool: it is reported and never committed.
func TestTorn(t *testing.T) {
	s, to := fill(t), fresh(t)
	must(t, s.Deliver(t.Context(), 1, node(t, "n1"), theKey))
	whole, err := os.ReadFile(s.Path(1))
	must(t, err)
	refused := func(what, word string) {
		t.Helper()
		if _, err := s.Commit(t.Context(), 1, theKey, to); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v", what, err)
		}
		if runs, err := to.Catalog.List(t.Context(), catalog.Filter{}); err != nil || len(runs) > 0 {
			t.Fatalf("%s: it is committed: %v, %v", what, runs, err)
		}
	}
	for _, n := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		must(t, os.WriteFile(s.Path(1), whole[:n], 0o600))
		refused("a torn record", record.ErrDamaged.Error())
	}
	must(t, os.WriteFile(s.Path(1), whole, 0o600))
	path := filepath.Join(s.Dir, blobsDir, digest("output"))
	must(t, os.WriteFile(path, []byte("other"), 0o600))
	refused("another blob", cas.ErrCorrupt.Error())
	must(t, os.Remove(path))
	must(t, os.Symlink("/etc/passwd", path))
	refused("a link", "a symbolic link")
	must(t, os.Remove(path))
	refused("no blob", "no such file")
	if _, err := s.Commit(t.Context(), 1, catalog.Key{ID: "b", Attempt: 1}, to); err == nil || !strings.Contains(err.Error(), "it is of run a@3") {
		t.Errorf("of another run: %v", err)
	}
}

// TestFirstResultCounts: of a task's result and a verdict about the task the first one counts, and the second is kept under the late name.
func TestFirstResultCounts(t *testing.T) {
	lost := catalog.Run{
		Key: theKey, Outcome: outcome.Outcome{State: outcome.Lost, Reason: "supervisor_lost"}, CreatedAt: time.Now().UTC(), FinishedAt: time.Now().UTC(),
		Request: json.RawMessage(`{}`), Report: json.RawMessage(`{}`), Host: "n1",
	}
	t.Run("verdict", func(t *testing.T) {
		s, to := fill(t), fresh(t)
		must(t, s.Conclude(1, lost))
		if err := s.Deliver(t.Context(), 1, node(t, "n1"), theKey); !errors.Is(err, ErrTaken) {
			t.Errorf("a second result: %v", err)
		}
		commit(t, s, 1, theKey, to)
		want(t, to, outcome.Lost)
		if late, err := s.Late(1); err != nil || !late {
			t.Errorf("late: %v, %v", late, err)
		}
	})
	t.Run("result", func(t *testing.T) {
		s, to := fill(t), fresh(t)
		must(t, s.Deliver(t.Context(), 1, node(t, "n1"), theKey))
		if err := s.Conclude(1, lost); !errors.Is(err, ErrTaken) {
			t.Errorf("a verdict after it: %v", err)
		}
		commit(t, s, 1, theKey, to)
		want(t, to, outcome.Complete)
		if late, err := s.Late(1); err != nil || late {
			t.Errorf("late: %v, %v", late, err)
		}
	})
}

// TestTakenAttempt: a result whose key another run has taken becomes a later attempt, and only one, however often it is committed.
func TestTakenAttempt(t *testing.T) {
	for _, c := range []cut{{}, {before: 1}, {after: 1}, {before: 2}, {after: 2}} {
		s, to := fill(t), fresh(t)
		must(t, s.Deliver(t.Context(), 1, node(t, "n1"), theKey))
		other := catalog.Run{Key: theKey, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: time.Now().UTC().Add(-time.Hour), Host: "n1", Request: json.RawMessage(`{}`)}
		must(t, to.Catalog.Create(t.Context(), other))
		c.Catalog, c.n = to.Catalog, new(int)
		if _, err := s.Commit(t.Context(), 1, theKey, store.Store{Catalog: c, Blobs: to.Blobs}); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		errs := make(chan error)
		for range 4 {
			go func() {
				key, err := s.Commit(t.Context(), 1, theKey, to)
				if err == nil && key != (catalog.Key{ID: "a", Attempt: 4}) {
					err = fmt.Errorf("committed as %v", key)
				}
				errs <- err
			}()
		}
		for range 4 {
			must(t, <-errs)
		}
		runs, err := to.Catalog.List(t.Context(), catalog.Filter{ID: "a"})
		if err != nil || len(runs) != 2 || runs[0].Attempt != 4 || runs[0].State != outcome.Complete || runs[1].State != outcome.Running {
			t.Errorf("%+v: the catalog has %+v, %v", c, runs, err)
		}
	}
}

// TestDeliverAgain: a delivery that failed after its name was given is the same result when it is tried again.
func TestDeliverAgain(t *testing.T) {
	s, from := fill(t), node(t, "n1")
	refused := catalog.Run{
		Key: theKey, Outcome: outcome.Outcome{State: outcome.Error, Reason: "commit"}, OutputsTotal: 1, CreatedAt: time.Now().UTC(), FinishedAt: time.Now().UTC(), Host: "n1", BootID: "b",
		Request: json.RawMessage(`{}`), Report: json.RawMessage(`{}`),
	}
	for range 2 {
		must(t, s.Deliver(t.Context(), 1, from, theKey))
		must(t, s.Conclude(2, refused))
	}
	refused.FinishedAt = refused.FinishedAt.Add(time.Second)
	if err := s.Conclude(2, refused); !errors.Is(err, ErrTaken) {
		t.Errorf("another: %v", err)
	}
	for n, want := range map[int]bool{1: false, 2: true} {
		if late, err := s.Late(n); err != nil || late != want {
			t.Errorf("late %d: %v, %v", n, late, err)
		}
	}
}

// TestUnwritable: a result that cannot be delivered is an error, and its name is not given.
func TestUnwritable(t *testing.T) {
	s := fill(t)
	must(t, os.RemoveAll(filepath.Join(s.Dir, blobsDir)))
	if err := s.Deliver(t.Context(), 1, node(t, "n1"), theKey); err == nil {
		t.Error("it was delivered")
	}
	if has, err := s.Has(1); err != nil || has {
		t.Errorf("has: %v, %v", has, err)
	}
}

func TestDeliveredIsDurable(t *testing.T) {
	s, from, to := fill(t), node(t, "n1"), fresh(t)
	durable.Check(t, func() error { return s.Deliver(t.Context(), 7, from, theKey) })
	durable.Check(t, func() error {
		_, err := s.Commit(t.Context(), 7, theKey, to)
		return err
	})
}
