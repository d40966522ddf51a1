package admission

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options say what a Scheduler admits.
type Options struct {
	// Runs is how many run at once; 0 is no bound.
	Runs int
	// Total bounds the sum of their limits; what is 0 there has no bound. A run that is larger than that runs when no other does.
	Total Resources
	// Account bounds that sum for all engines of an account together; nil does not.
	Account *Account
	// Retry is called, in a goroutine of its own, when an Account that had not enough may have it.
	Retry func()
	// Overlap is how many runs are prepared before their slot, if that pays, and about how many are committed after it; 0: none.
	Overlap int
	// Idle is how many runs the host has processors and memory for that the bounds leave unused.
	Idle int
}

// Scheduler decides which runs may start. It is safe for concurrent use.
type Scheduler struct {
	Options
	mu          sync.Mutex
	slots       []*Slot // of runs with processes, or none yet, in order
	committing  int     // runs that have vacated their slots
	belowSecond streak
	belowMinute streak
	timer       *time.Timer
}

// New makes a Scheduler.
func New(o Options) *Scheduler {
	return &Scheduler{Options: o, belowSecond: belowSecond(), belowMinute: belowMinute()}
}

// Slot is one run's place among those that may run.
type Slot struct {
	of      *Scheduler
	limits  Resources
	granted chan struct{}
	release func() // of the account; nil: it is not granted
	vacated bool
}

// again is the pause before an account is tried again that had not enough. Another engine's end of an analysis wakes no one.
const again = 10 * time.Millisecond

// Queue makes a slot for a run that comes after all others. Wait for it.
func (s *Scheduler) Queue(limits Resources) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	slot := s.add(limits)
	s.grant()
	return slot
}

// Start makes a slot for a run that may begin now: because it is granted at once, or because the run may be prepared while it
// waits for it. nil: it has to wait for the end of others, or for Retry.
func (s *Scheduler) Start(limits Resources) *Slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	early := s.early()
	// Many small runs may overlap the commits of a few; few runs overlap as many commits.
	if s.committing >= max(s.Overlap, 1) && s.committing+len(s.slots) >= 2*s.Overlap+early {
		return nil
	}
	slot := s.add(limits)
	if now := s.waiting() == 1 && s.fit() == len(s.slots) && s.open(slot); !now && s.waiting() > early {
		s.slots = s.slots[:len(s.slots)-1]
		return nil
	}
	return slot
}

func (s *Scheduler) add(limits Resources) *Slot {
	slot := &Slot{of: s, limits: limits.atLeastNothing(), granted: make(chan struct{})}
	s.slots = append(s.slots, slot)
	return slot
}

// Free is what the runs with a granted slot leave of Total; what has no bound is 0.
func (s *Scheduler) Free() Resources {
	s.mu.Lock()
	defer s.mu.Unlock()
	free := s.Total
	for _, slot := range s.slots {
		if slot.open() {
			free.Memory, free.CPUs = free.Memory-slot.limits.Memory, free.CPUs-slot.limits.CPUs
		}
	}
	return free.atLeastNothing()
}

// opened is how many slots are granted.
func (s *Scheduler) opened() (n int) {
	for _, slot := range s.slots {
		if slot.open() {
			n++
		}
	}
	return n
}

func (s *Scheduler) waiting() int { return len(s.slots) - s.opened() }

// fit is how many may run at once, from the first on.
func (s *Scheduler) fit() int {
	var all Resources
	for i, slot := range s.slots {
		all.Memory += slot.limits.Memory
		all.CPUs += slot.limits.CPUs
		if i > 0 && (s.Runs > 0 && i >= s.Runs || !s.Total.Holds(all)) {
			return i
		}
	}
	return len(s.slots)
}

// grant grants the slots of runs that fit.
func (s *Scheduler) grant() {
	for _, slot := range s.slots[:s.fit()] {
		if !slot.open() && !s.open(slot) {
			return
		}
	}
}

// open grants a slot, if the account has enough.
func (s *Scheduler) open(slot *Slot) bool {
	release, ok := s.Account.Take(slot.limits, s.opened() == 0)
	if ok {
		slot.release = release
		close(slot.granted)
	} else if s.timer == nil {
		s.timer = time.AfterFunc(again, s.retry)
	}
	return ok
}

// retry tries the account again. If nothing waits any more, another engine is next.
func (s *Scheduler) retry() {
	s.mu.Lock()
	s.timer = nil
	s.grant()
	s.mu.Unlock()
	s.Retry()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		s.Account.Yield()
	}
}

// remove gives back what a slot has, and reports whether that was still to do.
func (s *Scheduler) remove(slot *Slot) bool {
	i := slices.Index(s.slots, slot)
	if i < 0 {
		return false
	}
	s.slots = slices.Delete(s.slots, i, i+1)
	if slot.open() {
		slot.release()
	}
	s.grant()
	return true
}

func (s *Slot) open() bool { return s.release != nil }

// Wait waits until the slot is granted or ctx ends, and returns the cause then. A retry of the run keeps the slot.
func (s *Slot) Wait(ctx context.Context) error {
	select {
	case <-s.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Vacate notes that no process of the run is left: the next may start while its outputs are committed. It is idempotent, and
// nothing for a nil slot.
func (s *Slot) Vacate() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.remove(s) {
		s.vacated = true
		s.of.committing++
	}
}

// Release notes that the run has ended or will never start. It is idempotent, and nothing for a nil slot.
func (s *Slot) Release() {
	if s == nil {
		return
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if !s.of.remove(s) && s.vacated {
		s.vacated = false
		s.of.committing--
	}
}
