package admission

import "time"

// Short analyses take as long to prepare as to run. So the next ones are prepared, up to their first instruction, while
// earlier ones run. What is prepared when its caller drains has a row in the catalog and is canceled: so nothing is prepared
// for analyses that would wait for long. If processors and memory are idle, that is a minute: a script has its modules
// imported while it waits (docs/adr/0055).

// Overlapping is how many runs are in progress, at most, for each that runs, if they overlap: one is prepared and one is committed.
const Overlapping = 3

// streak is how many runs in a row took less time than below.
type streak struct {
	below time.Duration
	inRow int // so many: the next is expected to take less too
	seen  int
}

// belowSecond is the streak after which there is more to prepare than to run: the next are prepared though no processor is idle.
func belowSecond() streak { return streak{below: time.Second, inRow: 16} }

// belowMinute is the streak after which the next are prepared if processors and memory are idle.
func belowMinute() streak { return streak{below: time.Minute, inRow: 1} }

func (s *streak) add(took time.Duration) {
	if s.seen++; took >= s.below {
		s.seen = 0
	}
}

func (s *streak) lasts() bool { return s.seen >= s.inRow }

// Took notes how long a run took. Later ones are expected to take as long.
func (s *Scheduler) Took(wall time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.belowSecond.add(wall)
	s.belowMinute.add(wall)
}

// early is how many runs may be prepared before their slot is granted.
func (s *Scheduler) early() int {
	switch {
	case s.belowSecond.lasts():
		return s.Overlap
	case s.belowMinute.lasts():
		return min(s.Idle, s.Overlap)
	default:
		return 0
	}
}
