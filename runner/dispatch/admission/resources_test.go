package admission

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// begin waits for a slot until ctx ends.
func begin(ctx context.Context, all *Scheduler, d Resources) (*Slot, error) {
	slot := all.Queue(d)
	err := slot.Wait(ctx)
	if err != nil {
		slot.Release()
	}
	return slot, err
}

// An analysis that gives up waiting leaves its slot to the next one.
func TestSlotBehindOneGivenUp(t *testing.T) {
	all := New(Options{Runs: 2, Total: Resources{Memory: 4, CPUs: 1}})
	all.Queue(Resources{2, 0.5}) // and never ends
	large, small := all.Queue(Resources{4, 1}), all.Queue(Resources{1, 0.1})
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if err := small.Wait(impatient); !errors.Is(err, context.Canceled) {
		t.Fatalf("the small one passes the large one: %v", err)
	}
	large.Release()
	if err := small.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// Never is more granted than there is, and all is given back.
func TestSlotsOfMany(t *testing.T) {
	o := Options{Runs: 3, Total: Resources{Memory: 10, CPUs: 1}}
	all := New(o)
	var runs sync.WaitGroup
	var mu sync.Mutex
	var memory int64
	var cpus float64
	in := 0
	change := func(n int, m int64, c float64) {
		mu.Lock()
		defer mu.Unlock()
		if in, memory, cpus = in+n, memory+m, cpus+c; in > o.Runs || !o.Total.Holds(Resources{memory, cpus}) {
			t.Errorf("granted %d and %v to %d", memory, cpus, in)
		}
	}
	for range 200 {
		runs.Go(func() {
			d := Resources{rand.Int64N(5) + 1, 0.1 * float64(rand.IntN(5)+1)}
			ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
			defer cancel()
			slot, err := begin(ctx, all, d)
			if err != nil {
				return
			}
			change(1, d.Memory, d.CPUs)
			time.Sleep(rand.N(time.Millisecond))
			change(-1, -d.Memory, -d.CPUs)
			slot.Release()
		})
	}
	runs.Wait()
	if left := all.Free(); left != o.Total || all.waiting() != 0 {
		t.Errorf("in the end %+v are free, and %d wait", left, all.waiting())
	}
}

func TestFree(t *testing.T) {
	all := New(Options{Runs: 3, Total: Resources{Memory: 10}})
	first := all.Queue(Resources{4, 1})
	all.Queue(Resources{8, 1}) // waits
	if left := all.Free(); left != (Resources{6, 0}) {
		t.Errorf("%+v are free", left)
	}
	first.Release()
	if left := all.Free(); left != (Resources{2, 0}) {
		t.Errorf("%+v are free", left)
	}
}

// Unknown resources hold everything.
func TestHolds(t *testing.T) {
	for d, want := range map[Resources]bool{{4, 1}: true, {5, 0.1}: false, {1, 1.1}: false, {1, 1 + slack/2}: true} {
		if got := (Resources{Memory: 4, CPUs: 1}).Holds(d); got != want {
			t.Errorf("%+v: %v", d, got)
		}
		if !(Resources{}).Holds(d) {
			t.Errorf("%+v is too large for unknown resources", d)
		}
	}
}

// Limits of less than nothing leave others no more and no less, neither before nor after the end of their run.
func TestLimitsOfLessThanNothing(t *testing.T) {
	for _, cpus := range []float64{-1e308, -1, math.Inf(-1), math.NaN()} {
		all := New(Options{Runs: 2, Total: Resources{Memory: 4, CPUs: 1}})
		whole := all.Free()
		slot := all.Queue(Resources{-5, cpus})
		if left := all.Free(); left != whole {
			t.Errorf("with a limit of %v CPUs %+v are free", cpus, left)
		}
		if slot.Release(); all.Free() != whole {
			t.Errorf("after a limit of %v CPUs %+v are free", cpus, all.Free())
		}
	}
	(*Slot)(nil).Release()
}

// A slot that comes at the moment in which its owner gives up is given back. Of the two, a select statement takes either.
func TestSlotGivenUp(t *testing.T) {
	all := New(Options{Runs: 1, Total: Resources{Memory: 4, CPUs: 2}})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 64 {
		if slot, err := begin(gone, all, Resources{4, 2}); err == nil {
			slot.Release()
		}
	}
	if left := all.Free(); left != (Resources{4, 2}) {
		t.Errorf("%+v are free", left)
	}
}

func TestIdle(t *testing.T) {
	c := Resources{Memory: 8 << 30, CPUs: 4}
	for _, test := range []struct {
		jobs   int
		memory int64
		cpus   float64
		want   int
	}{
		{1, 2 << 30, 1, 3}, {4, 2 << 30, 1, 0}, {5, 2 << 30, 1, 0}, {1, 4 << 30, 1, 1}, {1, 1 << 30, 4, 0}, {2, 1 << 30, 0.5, 6}, {1, 9 << 30, 1, 0},
	} {
		if got := c.Idle(test.jobs, Resources{test.memory, test.cpus}); got != test.want {
			t.Errorf("%+v: %d", test, got)
		}
	}
	if got := (Resources{}).Idle(1, Resources{1, 1}); got != 0 {
		t.Errorf("of unknown resources %d are idle", got)
	}
}
