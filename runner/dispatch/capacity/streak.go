package capacity

import "time"

// Streak is how many analyses in a row took less time than Below.
type Streak struct {
	Below time.Duration
	InRow int // so many: the next is expected to take less too
	seen  int
}

// Short is the streak after which there is more to prepare than to run: the next analyses are prepared though no processor is
// idle.
func Short() Streak { return Streak{Below: time.Second, InRow: 16} }

// Brief is the streak after which the next analyses are prepared where processors and memory are idle.
func Brief() Streak { return Streak{Below: time.Minute, InRow: 1} }

// Add adds an analysis.
func (s *Streak) Add(took time.Duration) {
	if s.seen++; took >= s.Below {
		s.seen = 0
	}
}

// Lasts reports whether the next analysis is expected to take less than Below.
func (s *Streak) Lasts() bool { return s.seen >= s.InRow }
