// Package turns says which of the analyses that are prepared may start: in the order in which they came, while there is
// room. So the order of starts is as without preparation ahead.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Room is what analyses may use together. 0 is no bound.
type Room struct {
	Jobs   int     // at once
	Memory int64   // bytes
	CPUs   float64 // cores
}

// Demand is the limits of one analysis.
type Demand struct {
	Memory int64
	CPUs   float64
}

// slack is the rounding error in sums of fractions (0.1).
const slack = 1e-9

// has reports whether there is room for as many jobs with these demands together. One alone always has room.
func (r Room) has(jobs int, all Demand) bool {
	return jobs <= 1 || (r.Jobs == 0 || jobs <= r.Jobs) && (r.Memory == 0 || all.Memory <= r.Memory) && (r.CPUs == 0 || all.CPUs <= r.CPUs+slack)
}

// Turns are the turns of analyses that have not ended. It is safe for concurrent use.
type Turns struct {
	room Room
	mu   sync.Mutex
	live []*Turn // in order
}

// New makes the turns of a room.
func New(room Room) *Turns { return &Turns{room: room} }

// Turn is one analysis' turn.
type Turn struct {
	of     *Turns
	demand Demand
	begin  chan struct{} // closed when it is its turn
	open   bool
}

// Next is the turn of an analysis that comes after all others.
func (t *Turns) Next(d Demand) *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := &Turn{of: t, demand: d, begin: make(chan struct{})}
	t.live = append(t.live, turn)
	t.call()
	return turn
}

// Waiting is how many do not have their turn yet.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.live) - t.fit()
}

// Fits reports whether an analysis would have its turn at once.
func (t *Turns) Fits(d Demand) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = append(t.live, &Turn{demand: d})
	defer func() { t.live = t.live[:len(t.live)-1] }()
	return t.fit() == len(t.live)
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
		if !turn.open {
			turn.open = true
			close(turn.begin)
		}
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

// End notes that the analysis has ended or will never start. It is idempotent.
func (t *Turn) End() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.live = slices.DeleteFunc(t.of.live, func(turn *Turn) bool { return turn == t })
	t.of.call()
}
