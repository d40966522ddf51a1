package sandbox

import (
	"sync"
	"time"
)

// Stopwatch measures how long an analysis runs: it stands still while that is suspended. The zero value has
// not started.
type Stopwatch struct {
	mu      sync.Mutex
	started time.Time
	paused  time.Time // zero: it goes
	stood   time.Duration
}

// Start starts it as if that had been at a time.
func (s *Stopwatch) Start(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = at
}

// Pause lets it stand still, and reports whether it went before.
func (s *Stopwatch) Pause() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.paused.IsZero() {
		return false
	}
	s.paused = time.Now()
	return true
}

// Resume lets it go on, and reports whether it stood still before.
func (s *Stopwatch) Resume() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused.IsZero() {
		return false
	}
	s.stood += time.Since(s.paused)
	s.paused = time.Time{}
	return true
}

// Standing reports whether it stands still.
func (s *Stopwatch) Standing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.paused.IsZero()
}

// Ran is the time since the start without that in which it stood still; 0 before the start.
func (s *Stopwatch) Ran() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.IsZero() {
		return 0
	}
	return time.Since(s.started) - s.still()
}

// Stood is for how long it stood still.
func (s *Stopwatch) Stood() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.still()
}

func (s *Stopwatch) still() time.Duration {
	if s.paused.IsZero() {
		return s.stood
	}
	return s.stood + time.Since(s.paused)
}
