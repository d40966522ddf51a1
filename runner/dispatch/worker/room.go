package worker

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/capacity"
)

// room is the memory and the CPUs that the analyses of a worker may be granted together, and the places of those that run at
// once. They enter in order of arrival, so that small ones cannot overtake a large one forever.
type room struct {
	mu      sync.Mutex
	whole   capacity.Capacity // 0 of something: unknown and not counted
	free    capacity.Capacity
	places  int // free ones
	waiting []*guest
}

type guest struct {
	memory int64
	cpus   float64
	in     chan struct{} // closed when it is let in
	leave  func()        // gives all back; it is idempotent
}

var errTooLarge = errors.New("larger than the whole")

// slack is the rounding error in sums of fractions (0.1).
const slack = 1e-9

// newRoom returns a room with so many places.
func newRoom(whole capacity.Capacity, jobs int) *room {
	return &room{whole: whole, free: whole, places: jobs}
}

// tooLarge reports whether a guest can never fit.
func (r *room) tooLarge(memory int64, cpus float64) bool {
	return r.whole.Memory > 0 && memory > r.whole.Memory || r.whole.CPUs > 0 && cpus > r.whole.CPUs+slack
}

// enter waits for room until ctx ends. A negative amount counts as nothing: it would take the room of others when it leaves.
func (r *room) enter(ctx context.Context, memory int64, cpus float64) (*guest, error) {
	if r.whole.Memory == 0 || memory < 0 {
		memory = 0
	}
	if r.whole.CPUs == 0 || !(cpus > 0) { // or no number
		cpus = 0
	}
	if r.tooLarge(memory, cpus) {
		return nil, errTooLarge
	}
	g := &guest{memory: memory, cpus: cpus, in: make(chan struct{})}
	g.leave = sync.OnceFunc(func() { r.leave(g) })
	r.mu.Lock()
	r.waiting = append(r.waiting, g)
	r.admit()
	r.mu.Unlock()
	select {
	case <-g.in:
		return g, nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-g.in: // at the same moment
		r.giveBack(g)
	default:
		r.waiting = slices.DeleteFunc(r.waiting, func(other *guest) bool { return other == g })
	}
	r.admit() // those behind it
	return nil, context.Cause(ctx)
}

// left is what may be granted yet.
func (r *room) left() capacity.Capacity {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.free
}

func (r *room) leave(g *guest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.giveBack(g)
	r.admit()
}

func (r *room) giveBack(g *guest) {
	r.free.Memory += g.memory
	r.free.CPUs += g.cpus
	r.places++
}

// admit admits guests in order, up to the first one that does not fit.
func (r *room) admit() {
	for len(r.waiting) > 0 {
		g := r.waiting[0]
		if r.places == 0 || g.memory > r.free.Memory || g.cpus > r.free.CPUs+slack {
			return
		}
		r.free.Memory -= g.memory
		r.free.CPUs -= g.cpus
		r.places--
		r.waiting = r.waiting[1:]
		close(g.in)
	}
}
