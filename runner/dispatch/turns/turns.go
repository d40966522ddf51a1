// Package turns says which of the analyses that came may start: in their order, while there is room, for a batch, an engine and a
// worker. A large one is not overtaken. Preparation ahead does not change the order.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Room is what analyses may use together. 0 is no bound.
type Room struct {
	Jobs   int     // at once
	Memory int64   // bytes
	CPUs   float64 // cores
}

// Demand is the limits of one analysis. What is less than 0, or no number, counts as nothing.
type Demand struct {
	Memory int64
	CPUs   float64
}

// slack is the rounding error in sums of fractions (0.1).
const slack = 1e-9

// has reports whether there is room for as many jobs with these demands together. One alone always has room.
func (r Room) has(jobs int, all Demand) bool {
	return jobs <= 1 || (r.Jobs == 0 || jobs <= r.Jobs) && r.Holds(all)
}

// Holds reports whether a demand is within the room.
func (r Room) Holds(d Demand) bool {
	return (r.Memory == 0 || d.Memory <= r.Memory) && (r.CPUs == 0 || !(d.CPUs > r.CPUs+slack))
}

// again is the time after which an account is asked again that had no room. Another engine's end of an analysis wakes no one.
const again = 10 * time.Millisecond

// Turns are the turns of analyses that have not ended. It is safe for concurrent use.
type Turns struct {
	room    Room
	account *Account // nil: none
	retry   func()
	mu      sync.Mutex
	live    []*Turn // in order
	timer   *time.Timer
}

// New makes the turns of a room.
func New(room Room) *Turns { return &Turns{room: room} }

// NewShared makes the turns of a room whose analyses need room in an account too. Where that had none, retry is called when it may have
// some, in a goroutine of its own.
func NewShared(room Room, account *Account, retry func()) *Turns {
	return &Turns{room: room, account: account, retry: retry}
}

// Turn is one analysis' turn.
type Turn struct {
	of      *Turns
	demand  Demand
	begin   chan struct{} // closed when it is its turn
	release func()        // of the account; nil: it does not have its turn
}

func (t *Turn) open() bool { return t.release != nil }

func (t *Turns) add(d Demand) *Turn {
	d.Memory = max(d.Memory, 0)
	if !(d.CPUs > 0) {
		d.CPUs = 0
	}
	turn := &Turn{of: t, demand: d, begin: make(chan struct{})}
	t.live = append(t.live, turn)
	return turn
}

// Next is the turn of an analysis that comes after all others.
func (t *Turns) Next(d Demand) *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.add(d)
	t.call()
	return turn
}

// Now is the turn of an analysis that has it at once; nil: it would have to wait.
func (t *Turns) Now(d Demand) *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.add(d)
	if t.waiting() > 1 || t.fit() < len(t.live) || !t.open(turn) {
		t.live = t.live[:len(t.live)-1]
		return nil
	}
	return turn
}

// Waiting is how many do not have their turn yet.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting()
}

func (t *Turns) waiting() int { return len(t.live) - t.opened() }

// Left is what those that have their turn leave of the room; what has no bound is 0.
func (t *Turns) Left() Demand {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := Demand{t.room.Memory, t.room.CPUs}
	for _, turn := range t.live {
		if turn.open() {
			left.Memory, left.CPUs = left.Memory-turn.demand.Memory, left.CPUs-turn.demand.CPUs
		}
	}
	return Demand{max(left.Memory, 0), max(left.CPUs, 0)}
}

// opened is how many have their turn.
func (t *Turns) opened() (n int) {
	for _, turn := range t.live {
		if turn.open() {
			n++
		}
	}
	return n
}

// fit is how many there is room for, from the first on. A large one is not overtaken.
func (t *Turns) fit() int {
	var all Demand
	for i, turn := range t.live {
		all.Memory += turn.demand.Memory
		all.CPUs += turn.demand.CPUs
		if !t.room.has(i+1, all) {
			return i
		}
	}
	return len(t.live)
}

// call opens the turns for which there is room.
func (t *Turns) call() {
	for _, turn := range t.live[:t.fit()] {
		if !turn.open() && !t.open(turn) {
			return
		}
	}
}

// open opens a turn, if the account has room.
func (t *Turns) open(turn *Turn) bool {
	release, ok := t.account.Take(turn.demand, t.opened() == 0)
	if ok {
		turn.release = release
		close(turn.begin)
	} else if t.timer == nil {
		t.timer = time.AfterFunc(again, t.ask)
	}
	return ok
}

// ask asks the account again. Where nothing waits any more, another engine is next.
func (t *Turns) ask() {
	t.mu.Lock()
	t.timer = nil
	t.call()
	t.mu.Unlock()
	t.retry()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.account.Yield()
	}
}

// Wait waits for the turn until ctx ends, and returns the cause then. A retry keeps the turn.
func (t *Turn) Wait(ctx context.Context) error {
	select {
	case <-t.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End notes that the analysis has ended or will never start. It is idempotent, and nothing for a nil turn.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	i := slices.Index(t.of.live, t)
	if i < 0 {
		return
	}
	t.of.live = slices.Delete(t.of.live, i, i+1)
	if t.open() {
		t.release()
	}
	t.of.call()
}
