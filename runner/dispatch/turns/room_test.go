package turns

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// begin waits for a turn until ctx ends.
func begin(ctx context.Context, all *Turns, d Demand) (*Turn, error) {
	turn := all.Next(d)
	err := turn.Wait(ctx)
	if err != nil {
		turn.End()
	}
	return turn, err
}

// An analysis that gives up waiting leaves its place to the next one.
func TestTurnBehindWhoGaveUp(t *testing.T) {
	all := New(Room{Jobs: 2, Memory: 4, CPUs: 1})
	all.Next(Demand{2, 0.5}) // and never ends
	large, small := all.Next(Demand{4, 1}), all.Next(Demand{1, 0.1})
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := small.Wait(impatient); !errors.Is(err, context.Canceled) {
		t.Fatalf("the small one passes the large one: %v", err)
	}
	large.End()
	if err := small.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// Never is more granted than there is, and all is given back.
func TestTurnsOfMany(t *testing.T) {
	room := Room{Jobs: 3, Memory: 10, CPUs: 1}
	all := New(room)
	var runs sync.WaitGroup
	var mu sync.Mutex
	var memory int64
	var cpus float64
	in := 0
	change := func(n int, m int64, c float64) {
		mu.Lock()
		defer mu.Unlock()
		if in, memory, cpus = in+n, memory+m, cpus+c; in > room.Jobs || memory > room.Memory || cpus > room.CPUs+slack {
			t.Errorf("granted %d and %v to %d", memory, cpus, in)
		}
	}
	for range 200 {
		runs.Go(func() {
			d := Demand{rand.Int64N(5) + 1, 0.1 * float64(rand.IntN(5)+1)}
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
			defer cancel()
			turn, err := begin(ctx, all, d)
			if err != nil {
				return
			}
			change(1, d.Memory, d.CPUs)
			time.Sleep(rand.N(time.Millisecond))
			change(-1, -d.Memory, -d.CPUs)
			turn.End()
		})
	}
	runs.Wait()
	if left := all.Left(); left != (Demand{room.Memory, room.CPUs}) || all.Waiting() != 0 {
		t.Errorf("in the end %+v are free, and %d wait", left, all.Waiting())
	}
}

func TestLeft(t *testing.T) {
	all := New(Room{Jobs: 3, Memory: 10})
	first := all.Next(Demand{4, 1})
	all.Next(Demand{8, 1}) // waits
	if left := all.Left(); left != (Demand{6, 0}) {
		t.Errorf("%+v are free", left)
	}
	first.End()
	if left := all.Left(); left != (Demand{2, 0}) {
		t.Errorf("%+v are free", left)
	}
}

// A room of unknown size holds everything, and what is larger than a known one is told.
func TestHolds(t *testing.T) {
	for d, want := range map[Demand]bool{{4, 1}: true, {5, 0.1}: false, {1, 1.1}: false, {1, 1 + slack/2}: true} {
		if got := (Room{Memory: 4, CPUs: 1}).Holds(d); got != want {
			t.Errorf("%+v: %v", d, got)
		}
		if !(Room{}).Holds(d) {
			t.Errorf("%+v is too large for a room of unknown size", d)
		}
	}
}

// Who asks for less than nothing takes no room of others, neither before nor after its end.
func TestDemandOfLessThanNothing(t *testing.T) {
	for _, cpus := range []float64{-1e308, -1, math.Inf(-1), math.NaN()} {
		all := New(Room{Jobs: 2, Memory: 4, CPUs: 1})
		whole := all.Left()
		turn := all.Next(Demand{-5, cpus})
		if left := all.Left(); left != whole {
			t.Errorf("with a demand of %v CPUs %+v are free", cpus, left)
		}
		if turn.End(); all.Left() != whole {
			t.Errorf("after a demand of %v CPUs %+v are free", cpus, all.Left())
		}
	}
	(*Turn)(nil).End()
}

// A turn that comes at the moment in which its owner gives up is given back. Of the two, a select statement takes either.
func TestTurnOfWhoIsGone(t *testing.T) {
	all := New(Room{Jobs: 1, Memory: 4, CPUs: 2})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 64 {
		if turn, err := begin(gone, all, Demand{4, 2}); err == nil {
			turn.End()
		}
	}
	if left := all.Left(); left != (Demand{4, 2}) {
		t.Errorf("%+v are free", left)
	}
}
