package admission

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestOrder has three lines and two jobs: the third begins when one of the two before it has ended, and the order in which
// they are ready is nothing.
func TestOrder(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	all := New(Options{Runs: 2})
	first, second, third, fourth := all.Queue(Resources{}), all.Queue(Resources{}), all.Queue(Resources{}), all.Queue(Resources{})
	if err := third.Wait(over); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	for _, line := range []*Slot{second, first, first} {
		if err := line.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	second.Release()
	second.Release() // changes nothing
	if err := fourth.Wait(over); !errors.Is(err, why) {
		t.Errorf("it has overtaken the third: %v", err)
	}
	if err := third.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	third.Release()
	if err := fourth.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestTotal: a large analysis waits for those before it, is not overtaken, and runs alone if it is larger than the total.
func TestTotal(t *testing.T) {
	all := New(Options{Runs: 9, Total: Resources{Memory: 10, CPUs: 0.3}})
	small := Resources{Memory: 1, CPUs: 0.1}
	fits := func(d Resources) bool {
		slot := all.Start(d)
		if slot != nil {
			slot.Release()
		}
		return slot != nil
	}
	one, two := all.Queue(small), all.Queue(small)
	if !fits(small) || fits(Resources{Memory: 9, CPUs: 0.1}) || fits(Resources{Memory: 1, CPUs: 0.2}) {
		t.Error("two small ones leave enough for a third like them and no more")
	}
	large := all.Queue(Resources{Memory: 20, CPUs: 4})
	if fits(small) || all.waiting() != 1 {
		t.Errorf("a small one overtakes; %d wait", all.waiting())
	}
	one.Release()
	two.Release()
	if err := large.Wait(t.Context()); err != nil || fits(small) {
		t.Errorf("a large one has no company: %v", err)
	}
}

// TestCommits: a run starts while outputs of others are committed, at most twice as many as Overlap when few run, and as many
// as Overlap when many do.
func TestCommits(t *testing.T) {
	few := New(Options{Runs: 1, Overlap: 1})
	first := few.Start(Resources{})
	if few.Start(Resources{}) != nil {
		t.Error("two of one run")
	}
	first.Vacate()
	first.Vacate() // changes nothing
	second := few.Start(Resources{})
	if second == nil {
		t.Fatal("none runs while one is committed")
	}
	second.Vacate()
	if few.Start(Resources{}) != nil {
		t.Error("a third starts while two are committed")
	}
	first.Release()
	first.Release() // changes nothing
	if few.Start(Resources{}) == nil {
		t.Error("none starts after a commit")
	}
	many := New(Options{Runs: 9, Overlap: 1})
	first = many.Start(Resources{})
	many.Start(Resources{})
	many.Start(Resources{})
	first.Vacate()
	if many.Start(Resources{}) != nil {
		t.Error("a third runs while one is committed")
	}
	if first.Release(); many.Start(Resources{}) == nil {
		t.Error("none starts after a commit")
	}
}

// TestPrepares: the next are prepared before their slot if those before took less than a second, or less than a minute and processors are idle.
func TestPrepares(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		runs int
		o    Options
		want int
	}{
		{time.Second - 1, 16, Options{Runs: 2, Overlap: 2}, 2},
		{time.Second - 1, 15, Options{Runs: 2, Overlap: 2}, 0},
		{time.Second - 1, 16, Options{Runs: 2}, 0},
		{time.Second, 16, Options{Runs: 2, Overlap: 2}, 0},
		{time.Second, 1, Options{Runs: 2, Overlap: 2, Idle: 1}, 1},
		{time.Second, 1, Options{Runs: 2, Overlap: 2, Idle: 9}, 2},
		{time.Minute, 1, Options{Runs: 2, Overlap: 2, Idle: 9}, 0},
	} {
		all := New(c.o)
		for range c.runs {
			all.Took(c.took)
		}
		for range 9 {
			all.Start(Resources{})
		}
		if got := all.waiting(); got != c.want {
			t.Errorf("%+v: %d are prepared", c, got)
		}
	}
}
