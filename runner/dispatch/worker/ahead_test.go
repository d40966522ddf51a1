package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/capacity"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// entered is a guest that must find room at once.
func entered(t *testing.T, r *room, memory int64, cpus float64) *guest {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	g, err := r.enter(ctx, memory, cpus)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestMost has as many prepared as there are processors and memory for, at most as many as there are places, and none without
// brief analyses or beside a long one.
func TestMost(t *testing.T) {
	for _, c := range []struct {
		jobs         int
		whole        capacity.Capacity
		took, placed time.Duration // of one that has ended, 0 for none, and of the one that runs
		want         int
	}{
		{1, capacity.Capacity{Memory: 8, CPUs: 4}, time.Second, 0, 1},
		{2, capacity.Capacity{Memory: 8, CPUs: 4}, time.Second, 0, 2},
		{3, capacity.Capacity{Memory: 8, CPUs: 4}, time.Second, 0, 1},
		{4, capacity.Capacity{Memory: 8, CPUs: 4}, time.Second, 0, 0},
		{2, capacity.Capacity{Memory: 6, CPUs: 64}, time.Second, 0, 1},
		{2, capacity.Capacity{}, time.Second, 0, 0},
		{2, capacity.Capacity{Memory: 8, CPUs: 4}, 0, 0, 0},
		{2, capacity.Capacity{Memory: 8, CPUs: 4}, time.Minute, 0, 0},
		{2, capacity.Capacity{Memory: 8, CPUs: 4}, time.Second, time.Minute, 0},
	} {
		r := newRoom(c.whole, c.jobs)
		g := entered(t, r, 2, 1)
		if c.took > 0 {
			r.note(c.took)
		}
		r.mu.Lock()
		r.placed[g] = r.placed[g].Add(-c.placed)
		got := r.most()
		r.mu.Unlock()
		if got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestTurnsInOrder has two prepared beside two that run. Each has its turn in the order of entry, holds its memory before, and
// one that gives up leaves its turn to the next.
func TestTurnsInOrder(t *testing.T) {
	whole := capacity.Capacity{Memory: 10, CPUs: 10}
	r := newRoom(whole, 2)
	first, second := entered(t, r, 2, 1), entered(t, r, 2, 1)
	blocked, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.enter(blocked, 2, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third has entered before one was brief: %v", err)
	}
	r.note(time.Second)
	third, fourth := entered(t, r, 2, 1), entered(t, r, 2, 1)
	if third.hasTurn() || fourth.hasTurn() || r.left().Memory != 2 {
		t.Errorf("third %t, fourth %t, %+v is free", third.hasTurn(), fourth.hasTurn(), r.left())
	}
	if r.giveUp(first) {
		t.Error("one that has its turn gives it up")
	}
	if !r.giveUp(third) || r.giveUp(third) {
		t.Error("the wait for a turn is given up once")
	}
	second.leave()
	if third.hasTurn() || !fourth.hasTurn() {
		t.Errorf("third %t, fourth %t", third.hasTurn(), fourth.hasTurn())
	}
	for _, g := range []*guest{first, third, fourth} {
		g.leave()
	}
	if r.left() != whole || len(r.placed) > 0 || len(r.ahead) > 0 {
		t.Errorf("%+v is free, %d have places and %d wait for one", r.left(), len(r.placed), len(r.ahead))
	}
}

// TestNoteAdmits: one that waits for room is prepared as soon as the analyses are known to be brief.
func TestNoteAdmits(t *testing.T) {
	r := newRoom(capacity.Capacity{Memory: 10, CPUs: 10}, 1)
	entered(t, r, 2, 1)
	in := make(chan *guest)
	go func() {
		g, err := r.enter(t.Context(), 2, 1)
		if err != nil {
			t.Error(err)
		}
		in <- g
	}()
	waits(t, r, 1)
	r.note(time.Second)
	if g := <-in; g.hasTurn() {
		t.Error("it has a turn beside the one that runs")
	}
}

// waiting is a job that waits for its turn behind another.
func waiting(t *testing.T, rescueAfter time.Duration, draining <-chan struct{}) (*job, *guest) {
	t.Helper()
	w := &Worker{
		Options: queue.Options{Name: "here/1/x", Jobs: 1, RescueAfter: rescueAfter}, Capacity: capacity.Capacity{Memory: 10, CPUs: 10},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), draining: draining,
	}
	w.open()
	first := entered(t, w.room, 1, 1)
	w.room.note(time.Second)
	j := newJob(t.Context(), w, entered(t, w.room, 1, 1))
	j.ledger = &ledger{claim: brought{job: queue.Job{LastTry: true}}}
	return j, first
}

// TestAwaitTurn: a drain or a long wait gives a job back, untried; its turn does not.
func TestAwaitTurn(t *testing.T) {
	drained := make(chan struct{})
	close(drained)
	for _, c := range []struct {
		rescueAfter time.Duration
		draining    chan struct{}
		by          string
	}{{time.Hour, drained, queue.ByDrain}, {time.Millisecond, nil, queue.ByAnother}} {
		j, first := waiting(t, c.rescueAfter, c.draining)
		stop := make(chan request.StopSignal, 1)
		j.awaitTurn(t.Context(), stop)
		if s := <-stop; s.Name != c.by {
			t.Errorf("stopped by %q, want %q", s.Name, c.by)
		}
		first.leave()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := j.admit(over); !errors.Is(err, context.Canceled) || j.guest.hasTurn() {
			t.Errorf("%v, and it has a turn: %t", err, j.guest.hasTurn())
		}
		var later *queue.Later
		if !errors.As(j.cause(), &later) || j.then(catalog.Run{State: catalog.Canceled}, 0) != queue.Requeue {
			t.Errorf("it goes back by %v", j.cause())
		}
	}
	j, _ := waiting(t, time.Millisecond, nil)
	time.Sleep(time.Millisecond)
	if n := j.ahead(); n != 0 {
		t.Errorf("%d are taken again that would wait in vain", n)
	}
	j, first := waiting(t, time.Hour, nil)
	if n := j.ahead(); n != 1 {
		t.Errorf("%d are taken ahead, want 1", n)
	}
	first.leave()
	j.awaitTurn(t.Context(), nil)
	if err := j.admit(t.Context()); err != nil || j.cause() != nil {
		t.Errorf("%v, %v", err, j.cause())
	}
	if j.progress.At[Taken].IsZero() || j.Load().Running != 1 {
		t.Errorf("with its turn it is %+v, and %d run", j.progress, j.Load().Running)
	}
	if j.leave(); j.Load().Running != 0 {
		t.Errorf("%d run", j.Load().Running)
	}
}
