package unotify

import (
	"time"

	"golang.org/x/sys/unix"
)

// A run's share of the supervisor's CPU time: a burst of some 10,000 answers, and then one part in so many of the time.
// The supervisor is outside the run's control group, so the analysis must not control its load.
const (
	burst = 500 * time.Millisecond
	part  = 10
	// nap is the shortest rest worth a timer.
	nap = 10 * time.Millisecond
)

// pace is a token bucket of CPU time.
type pace struct {
	taken time.Duration
	last  time.Time
	used  time.Duration // then
}

// rest returns how long to rest, given the total CPU time used.
func (p *pace) rest(now time.Time, used time.Duration) time.Duration {
	if p.last.IsZero() {
		p.last, p.used = now, used
	}
	p.taken = max(0, p.taken-now.Sub(p.last)/part) + used - p.used
	p.last, p.used = now, used
	if p.taken <= burst {
		return 0
	}
	return max(nap, (p.taken-burst)*part)
}

// processorTime of the calling thread (clock_gettime(2)).
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
