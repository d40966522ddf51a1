// Package clock measures the time of an analysis. Launcher and supervisor each keep a Stopwatch of a run.
package clock

import (
	"sync"
	"time"
)

// Stopwatch measures how long an analysis runs, without suspensions. The zero value has not started.
type Stopwatch struct {
	mu      sync.Mutex
	started time.Time
	paused  time.Time // zero: running
	stood   time.Duration
}

// Start starts it as if at the given time.
func (s *Stopwatch) Start(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = at
}

// Pause pauses it, and reports whether it was running.
func (s *Stopwatch) Pause() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.paused.IsZero() {
		return false
	}
	s.paused = time.Now()
	return true
}

// Resume continues it, and reports whether it was paused.
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

// Standing reports whether it is paused.
func (s *Stopwatch) Standing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.paused.IsZero()
}

// Ran is the time since the start without pauses; 0 before the start.
func (s *Stopwatch) Ran() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started.IsZero() {
		return 0
	}
	return time.Since(s.started) - s.still()
}

// Stood is the total of the pauses.
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
