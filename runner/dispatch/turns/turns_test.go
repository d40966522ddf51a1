package turns

import (
	"context"
	"errors"
	"testing"
)

// TestTurns has three lines and two jobs: the third begins when one of the two before it has ended, and the order in which
// they are ready is nothing.
func TestTurns(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	all := New(Room{Jobs: 2})
	first, second, third, fourth := all.Next(Demand{}), all.Next(Demand{}), all.Next(Demand{}), all.Next(Demand{})
	if err := third.Wait(over); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
	for _, line := range []*Turn{second, first, first} {
		if err := line.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
	second.End()
	second.End() // changes nothing
	if err := fourth.Wait(over); !errors.Is(err, why) {
		t.Errorf("it has overtaken the third: %v", err)
	}
	if err := third.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	third.End()
	if err := fourth.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRoom: a large analysis waits for those before it, is not overtaken, and runs alone where it is larger than the room.
func TestRoom(t *testing.T) {
	all := New(Room{Jobs: 9, Memory: 10, CPUs: 0.3})
	small := Demand{Memory: 1, CPUs: 0.1}
	fits := func(d Demand) bool {
		turn := all.Now(d)
		if turn != nil {
			turn.End()
		}
		return turn != nil
	}
	one, two := all.Next(small), all.Next(small)
	if !fits(small) || fits(Demand{Memory: 9, CPUs: 0.1}) || fits(Demand{Memory: 1, CPUs: 0.2}) {
		t.Error("two small ones leave room for a third like them alone")
	}
	large := all.Next(Demand{Memory: 20, CPUs: 4})
	if fits(small) || all.Waiting() != 1 {
		t.Errorf("a small one overtakes; %d wait", all.Waiting())
	}
	one.End()
	two.End()
	if err := large.Wait(t.Context()); err != nil || fits(small) {
		t.Errorf("a large one has no company: %v", err)
	}
}
