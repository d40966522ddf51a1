package worker

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/capacity"
)

// Guests are let in in their order, and only those that can never be are turned away.
func TestRoom(t *testing.T) {
	r := newRoom(capacity.Capacity{Memory: 4, CPUs: 1}, 2)
	first, err := r.enter(t.Context(), 2, 0.7)
	if err != nil {
		t.Fatal(err)
	}
	for _, large := range []struct {
		memory int64
		cpus   float64
	}{{5, 0.1}, {1, 1.1}} {
		if _, err := r.enter(t.Context(), large.memory, large.cpus); !errors.Is(err, errTooLarge) {
			t.Errorf("%+v: %v", large, err)
		}
	}
	in := make(chan string, 2)
	enter := func(name string, memory int64, cpus float64) {
		go func() {
			g, err := r.enter(t.Context(), memory, cpus)
			if err != nil {
				t.Error(err)
				return
			}
			in <- name
			g.leave()
		}()
	}
	enter("large", 4, 0.3)
	waits(t, r, 1)
	enter("small", 1, 0.1) // has room, and does not pass the large one
	waits(t, r, 2)
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := r.enter(impatient, 1, 0.1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who waits no longer: %v", err)
	}
	first.leave()
	first.leave() // once is enough
	if got := <-in; got != "large" {
		t.Errorf("%s came in first", got)
	}
	<-in
}

// Whoever gives up waiting makes way for those behind it.
func TestRoomBehindWhoGaveUp(t *testing.T) {
	r := newRoom(capacity.Capacity{Memory: 4, CPUs: 1}, 2)
	if _, err := r.enter(t.Context(), 2, 0.5); err != nil { // and never leaves
		t.Fatal(err)
	}
	impatient, giveUp := context.WithCancel(t.Context())
	gaveUp := make(chan error, 1)
	go func() {
		_, err := r.enter(impatient, 4, 1)
		gaveUp <- err
	}()
	waits(t, r, 1)
	in := make(chan error, 1)
	go func() {
		_, err := r.enter(t.Context(), 1, 0.1)
		in <- err
	}()
	waits(t, r, 2)
	giveUp()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.mu.Lock()
	n := len(r.waiting)
	r.mu.Unlock()
	if n > 0 {
		t.Fatal("there is room for the one behind, and it still waits")
	}
	if err := <-in; err != nil {
		t.Error(err)
	}
}

// waits returns when so many guests wait.
func waits(t *testing.T, r *room, many int) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		r.mu.Lock()
		n := len(r.waiting)
		r.mu.Unlock()
		if n == many {
			return
		}
	}
	t.Fatalf("there are never %d waiting", many)
}

// Never is more granted than there is, and all is given back.
func TestRoomAmongMany(t *testing.T) {
	whole := capacity.Capacity{Memory: 10, CPUs: 1}
	const places = 3
	r := newRoom(whole, places)
	var guests sync.WaitGroup
	var mu sync.Mutex
	var memory int64
	var cpus float64
	in := 0
	change := func(n int, m int64, c float64) {
		mu.Lock()
		defer mu.Unlock()
		if in, memory, cpus = in+n, memory+m, cpus+c; in > places || memory > whole.Memory || cpus > whole.CPUs+slack {
			t.Errorf("granted %d and %v to %d", memory, cpus, in)
		}
	}
	for range 200 {
		guests.Go(func() {
			m, c := rand.Int64N(5)+1, 0.1*float64(rand.IntN(5)+1)
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
			defer cancel()
			g, err := r.enter(ctx, m, c)
			if err != nil {
				return
			}
			change(1, m, c)
			time.Sleep(rand.N(time.Millisecond))
			change(-1, -m, -c)
			g.leave()
		})
	}
	guests.Wait()
	if r.free.Memory != whole.Memory || r.free.CPUs < whole.CPUs-slack || len(r.waiting) != 0 || r.places != places {
		t.Errorf("in the end %+v and %d places are free, and %d wait", r.free, r.places, len(r.waiting))
	}
	if newRoom(capacity.Capacity{}, 1).whole.Memory != 0 {
		t.Error("a room of unknown size has one")
	}
	if _, err := newRoom(capacity.Capacity{}, 1).enter(t.Context(), 1<<40, 100); err != nil {
		t.Errorf("where nobody knows the size: %v", err)
	}
}

// Who asks for less than nothing takes no room of others, neither while in nor by leaving.
func TestRoomForLessThanNothing(t *testing.T) {
	whole := capacity.Capacity{Memory: 4, CPUs: 1}
	for _, cpus := range []float64{-1e308, -1, math.Inf(-1), math.NaN()} {
		r := newRoom(whole, 2)
		g, err := r.enter(t.Context(), -5, cpus)
		if err != nil {
			t.Fatal(err)
		}
		if r.left() != whole {
			t.Errorf("with a guest of %v CPUs %+v are free", cpus, r.left())
		}
		if g.leave(); r.left() != whole {
			t.Errorf("after a guest of %v CPUs %+v are free", cpus, r.left())
		}
	}
}

// TestRoomOfWhoIsGone: room that comes at the moment in which its guest gives up is given back. Of the two, a select statement takes either.
func TestRoomOfWhoIsGone(t *testing.T) {
	whole := capacity.Capacity{Memory: 4, CPUs: 2}
	r := newRoom(whole, 1)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 64 {
		if g, err := r.enter(gone, 4, 2); err == nil {
			g.leave()
		}
	}
	if r.left() != whole || r.places != 1 {
		t.Errorf("%+v and %d places are free, want all and 1", r.left(), r.places)
	}
}
