package suspend

import (
	"sync"
	"time"
)

// Suspender suspends the analysis of the run whose Request it is part of, while one runs. The zero value is
// ready.
type Suspender struct {
	mu      sync.Mutex // see steady
	run     suspendable
	asked   bool
	answers chan struct{} // at most one waits
	ended   chan struct{} // closed with the analysis
}

// suspendable is what a Suspender needs of a supervisor.
type suspendable interface {
	Start() error
	Suspend() error
	Resume() error
}

// suspendPatience is how long an answer may take: longer than the supervisor itself tries.
const suspendPatience = 10 * time.Second

// Suspend stops every process of the analysis, and its clock, and calls then when they stand still; at once
// where none runs. Nothing that others would have to wait for is half done meanwhile.
func (s *Suspender) Suspend(then func()) {
	s.ask(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	then()
}

// Resume lets what Suspend has stopped go on.
func (s *Suspender) Resume() { s.ask(false) }

func (s *Suspender) ask(suspend bool) {
	s.mu.Lock()
	run, answers, ended := s.run, s.answers, s.ended
	due := run != nil && (suspend || s.asked)
	s.asked = suspend
	s.mu.Unlock()
	if !due {
		return
	}
	select {
	case <-answers: // to what nobody waited for
	default:
	}
	send := run.Resume
	if suspend {
		send = run.Suspend
	}
	if send() != nil {
		return // the supervisor is gone, and the analysis with it
	}
	late := time.NewTimer(suspendPatience)
	defer late.Stop()
	select {
	case <-answers:
	case <-ended:
	case <-late.C:
	}
}

// Start starts an analysis that can be suspended from then on, until end.
func (s *Suspender) Start(run suspendable) error {
	return s.Steady(func() error {
		if err := run.Start(); err != nil {
			return err
		}
		s.run, s.asked, s.answers, s.ended = run, false, make(chan struct{}, 1), make(chan struct{})
		return nil
	})
}

// End says that the analysis has ended and cannot be suspended any more.
func (s *Suspender) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		close(s.ended)
		s.run = nil
	}
}

// Answered wakes who waits.
func (s *Suspender) Answered() {
	select {
	case s.answers <- struct{}{}:
	default:
	}
}

// Steady does what is not to be half done while the launcher stands still: a transaction would hold up
// everybody else's.
func (s *Suspender) Steady(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do()
}
