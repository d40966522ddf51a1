package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// stage runs analyses that end when they are told to, or stopped.
type stage struct {
	*Engine
	t       *testing.T
	started chan string
	vacate  bool // analyses end at once, and their commits when they are told to
	mu      sync.Mutex
	ends    map[string]chan struct{}
}

func newStage(t *testing.T, o admission.Options) *stage {
	s := &stage{t: t, started: make(chan string, 100), ends: map[string]chan struct{}{}}
	s.Engine = newEngine(t.Context(), &phase.Host{Version: "1"}, o)
	s.Engine.do = s.do
	return s
}

// do is a run: with Overlap it waits for its turn.
func (s *stage) do(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal, _ dispatch.Events) dispatch.LineResult {
	id := line.Analysis.ID
	if line.Admit != nil {
		if err := line.Admit(ctx); err != nil {
			s.t.Error(err)
		}
	}
	if s.vacate {
		line.Vacate()
	}
	s.started <- id
	select {
	case <-s.end(id):
		return endedAs(id, outcome.Complete, "")
	case why := <-stop:
		return endedAs(id, outcome.Canceled, why.Name)
	}
}

func endedAs(id string, state outcome.State, message string) dispatch.LineResult {
	return dispatch.LineResult{Result: result.Result{ID: id, Attempt: 1, Outcome: outcome.Outcome{State: state, Message: message}}}
}

// end is closed to end a run.
func (s *stage) end(id string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends[id] == nil {
		s.ends[id] = make(chan struct{})
	}
	return s.ends[id]
}

func (s *stage) submit(c *Caller, id string, detached bool) *Job {
	s.t.Helper()
	j, err := c.Submit(spec.Analysis{ID: id, Command: []string{"true"}}, nil, detached)
	if err != nil {
		s.t.Fatal(err)
	}
	return j
}

// expectStarted waits until these have started, in any order, and no others.
func (s *stage) expectStarted(want ...string) {
	s.t.Helper()
	var got []string
	for range want {
		got = append(got, <-s.started)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(s.started) > 0 {
		s.t.Errorf("started: %q, want %q", got, want)
	}
}

func wait(j *Job) result.Result {
	<-j.Done()
	return j.outcome.Result
}

// TestCallersTakeTurns: a flood of one caller does not delay the first request of another.
func TestCallersTakeTurns(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 1})
	flood, other := s.NewCaller(), s.NewCaller()
	for i := range 5 {
		s.submit(flood, fmt.Sprint("f", i), false)
	}
	s.submit(other, "o0", false)
	s.submit(other, "o1", false)
	for _, id := range []string{"f0", "o0", "f1", "o1", "f2", "f3", "f4"} {
		s.expectStarted(id)
		close(s.end(id))
	}
	s.WaitAll()
}

// TestTotalIsShared: analyses run at once while the engine holds their limits together, and the next waits.
func TestTotalIsShared(t *testing.T) {
	s := newStage(t, admission.Options{Total: admission.Resources{Memory: 5 << 30, CPUs: 8}, Overlap: 2})
	c := s.NewCaller()
	for _, id := range []string{"a", "b", "c"} { // 2 GiB each
		s.submit(c, id, false)
	}
	s.expectStarted("a", "b")
	if got := s.Queued(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%q wait", got)
	}
	close(s.end("a"))
	s.expectStarted("c")
	close(s.end("b"))
	close(s.end("c"))
	s.WaitAll()
}

// TestCommitOverlaps: if one analysis runs at a time, the next starts while the one before commits its outputs.
func TestCommitOverlaps(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 1, Overlap: 1})
	s.vacate = true
	c := s.NewCaller()
	for _, id := range []string{"a", "b", "c"} {
		s.submit(c, id, false)
	}
	s.expectStarted("a", "b")
	if got := s.Queued(); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%q wait", got)
	}
	close(s.end("a"))
	s.expectStarted("c")
	close(s.end("b"))
	close(s.end("c"))
	s.WaitAll()
}

// TestCallerGoes: what waits is canceled, what runs is stopped, what is detached goes on; other callers keep theirs.
func TestCallerGoes(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 3})
	gone, other := s.NewCaller(), s.NewCaller()
	runs, detached, kept := s.submit(gone, "runs", false), s.submit(gone, "detached", true), s.submit(other, "kept", false)
	s.expectStarted("runs", "detached", "kept")
	waits, later := s.submit(gone, "waits", false), s.submit(gone, "later", true)
	gone.Close()
	if r := wait(runs); r.State != outcome.Canceled || r.Message != hangup.Name {
		t.Errorf("runs: %+v", r)
	}
	if r := wait(waits); r.State != outcome.Canceled || r.Attempt != 0 || r.ExitCode != 129 {
		t.Errorf("waits: %+v", r)
	}
	s.expectStarted("later")
	for _, id := range []string{"detached", "kept", "later"} {
		close(s.end(id))
	}
	for _, j := range []*Job{detached, kept, later} {
		if r := wait(j); r.State != outcome.Complete {
			t.Errorf("%+v", r)
		}
	}
	other.Close()
	if _, err := gone.Submit(spec.Analysis{ID: "late"}, nil, false); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	late := s.submit(gone, "late", true)
	s.expectStarted("late")
	close(s.end("late"))
	wait(late)
	if len(s.callers) != 0 {
		t.Errorf("%d callers are left", len(s.callers))
	}
}

// TestDrain: nothing is taken any more, what waits is canceled, what runs ends by itself, or by Stop.
func TestDrain(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 2})
	c := s.NewCaller()
	a, b, waits := s.submit(c, "a", false), s.submit(c, "b", false), s.submit(c, "waits", false)
	s.expectStarted("a", "b")
	s.Drain()
	if r := wait(waits); r.State != outcome.Canceled {
		t.Errorf("%+v", r)
	}
	if _, err := c.Submit(spec.Analysis{ID: "new"}, nil, false); !errors.Is(err, ErrDraining) {
		t.Error(err)
	}
	close(s.end("a"))
	if r := wait(a); r.State != outcome.Complete {
		t.Errorf("%+v", r)
	}
	s.StopAll(request.StopSignal{Name: "SIGTERM"})
	if r := wait(b); r.State != outcome.Canceled || r.Message != "SIGTERM" {
		t.Errorf("%+v", r)
	}
	s.WaitAll()
}

// TestSubmitRefuses: an id in use, and more than a caller may have.
func TestSubmitRefuses(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 1})
	c := s.NewCaller()
	s.submit(c, "a", false)
	if _, err := c.Submit(spec.Analysis{ID: "a"}, nil, false); !errors.Is(err, ErrInUse) {
		t.Error(err)
	}
	for i := range maxQueued - 1 {
		s.submit(c, fmt.Sprint("b", i), false)
	}
	if _, err := c.Submit(spec.Analysis{ID: "c"}, nil, false); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	c.Close()
	s.WaitAll()
	if len(s.refused.by) != maxRefused || len(s.refused.order) != maxRefused {
		t.Errorf("%d refusals are kept", len(s.refused.by))
	}
}

// TestRefusedTwice: the second refusal of an id is kept as long as any other.
func TestRefusedTwice(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 1})
	c := s.NewCaller()
	s.submit(c, "runs", false)
	s.expectStarted("runs")
	refuse := func(id string) { s.submit(c, id, false).Cancel() }
	refuse("twice")
	for i := range maxRefused - 2 {
		refuse(fmt.Sprint("once", i))
	}
	refuse("twice")
	refuse("last")
	if _, kept := s.Refused("twice"); !kept {
		t.Error("the refusal before the last is not kept")
	}
	close(s.end("runs"))
	s.WaitAll()
}

// TestStops: a job that waits, one that runs, and one that has ended.
func TestStops(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 1})
	c := s.NewCaller()
	runs, waits := s.submit(c, "runs", false), s.submit(c, "waits", false)
	s.expectStarted("runs")
	if !waits.Queued() || waits.Pending().State != outcome.Queued || runs.Queued() {
		t.Error("who waits?")
	}
	waits.Cancel()
	if r := wait(waits); r.State != outcome.Canceled || r.ExitCode != 143 {
		t.Errorf("%+v", r)
	}
	if o, ok := s.Refused("waits"); !ok || o.Result.ID != "waits" {
		t.Errorf("%+v", o)
	}
	runs.Stop(true)
	if r := wait(runs); r.Message != "scidex-oci stop" {
		t.Errorf("%+v", r)
	}
	runs.Stop(false)
	s.WaitAll()
	if _, found := s.Job("runs"); found {
		t.Error("one that has ended is found")
	}
}

// TestManyCallers come and go, and ask about runs meanwhile. No goroutine is left.
func TestManyCallers(t *testing.T) {
	before := runtime.NumGoroutine()
	s := newStage(t, admission.Options{Runs: 4, Total: admission.Resources{Memory: 16 << 30, CPUs: 8}, Overlap: 2})
	s.started = make(chan string, 2000)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			c := s.NewCaller()
			for k := range 5 {
				j := s.submit(c, fmt.Sprintf("%d-%d", i, k), k == 4)
				if k%2 == 0 {
					close(s.end(j.ID()))
				}
				s.Job(j.ID())
				s.Refused(j.ID())
				s.Queued()
			}
			c.Close()
		})
	}
	all.Wait()
	s.WaitAll()
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		runtime.Gosched()
	}
	if n := runtime.NumGoroutine(); n > before || len(s.callers) > 0 {
		t.Errorf("%d goroutines, %d before; %d callers", n, before, len(s.callers))
	}
}

// late is a catalog that gets the row of a run after the first look.
type late struct {
	catalog.Catalog
	looked *atomic.Bool
	run    catalog.Run
}

func (l late) Find(context.Context, string) (catalog.Run, error) {
	if l.looked.Swap(true) {
		return l.run, nil
	}
	return catalog.Run{}, catalog.ErrNotFound
}

func (l late) List(context.Context, catalog.Filter) ([]catalog.Run, error) {
	return []catalog.Run{l.run}, nil
}

func TestShowBeforeTheRow(t *testing.T) {
	s := newStage(t, admission.Options{Runs: 1})
	s.host.Catalog = late{looked: &atomic.Bool{}, run: catalog.Run{Key: catalog.Key{ID: "a", Attempt: 1}}}
	j := s.submit(s.NewCaller(), "a", false)
	s.expectStarted("a")
	if got, err := s.Show(t.Context(), "a"); err != nil || got.ID != "a" {
		t.Errorf("%+v, %v", got, err)
	}
	close(s.end("a"))
	wait(j)
}

// named is a catalog that finds a run by any name.
type named struct {
	catalog.Catalog
	run catalog.Run
}

func (n named) Find(context.Context, string) (catalog.Run, error) { return n.run, nil }

// TestFindQueued: a run that waits, or was refused, is not confused with its earlier attempt or with one whose id begins as its own.
func TestFindQueued(t *testing.T) {
	for id, foundRunning := range map[string]bool{"b": true, "b-10": false} {
		s := newStage(t, admission.Options{Runs: 1})
		s.host.Catalog = named{run: catalog.Run{Key: catalog.Key{ID: id, Attempt: 1}}}
		c := s.NewCaller()
		first := s.submit(c, "a", false)
		s.expectStarted("a")
		second := s.submit(c, "b", false)
		if run, err := s.Find(t.Context(), "b"); !errors.As(err, new(*NotFoundError)) {
			t.Errorf("b waits: %v, %v", run.Key, err)
		}
		close(s.end("a"))
		wait(first)
		s.expectStarted("b")
		if run, err := s.Find(t.Context(), "b"); (err == nil) != foundRunning {
			t.Errorf("b runs: %v, %v", run.Key, err)
		}
		third := s.submit(c, "c", false)
		third.Cancel()
		wait(third)
		if run, err := s.Find(t.Context(), "c"); !errors.As(err, new(*NotFoundError)) {
			t.Errorf("c was canceled: %v, %v", run.Key, err)
		}
		close(s.end("b"))
		wait(second)
	}
}
