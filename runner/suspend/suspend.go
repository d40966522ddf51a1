package suspend

import (
	"sync"
	"time"
)

// Suspender suspends the analysis of the run whose Request has it, while one runs. The zero value is ready.
type Suspender struct {
	mu      sync.Mutex // see Uninterrupted
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

// suspendPatience is the timeout for an answer: longer than the supervisor tries.
const suspendPatience = 10 * time.Second

// Suspend stops every process of the analysis, and its clock, and then calls then; at once if none runs. Nothing that
// would block others is half done when it calls.
func (s *Suspender) Suspend(then func()) {
	s.ask(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	then()
}

// Resume continues what Suspend has stopped.
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
	case <-answers: // an unawaited answer
	default:
	}
	send := run.Resume
	if suspend {
		send = run.Suspend
	}
	if send() != nil {
		return // the supervisor is dead, and the analysis with it
	}
	late := time.NewTimer(suspendPatience)
	defer late.Stop()
	select {
	case <-answers:
	case <-ended:
	case <-late.C:
	}
}

// StartRun starts an analysis, which can be suspended from then on until RunEnded.
func (s *Suspender) StartRun(run suspendable) error {
	return s.Uninterrupted(func() error {
		if err := run.Start(); err != nil {
			return err
		}
		s.run, s.asked, s.answers, s.ended = run, false, make(chan struct{}, 1), make(chan struct{})
		return nil
	})
}

// RunEnded says that the analysis has ended and cannot be suspended any more.
func (s *Suspender) RunEnded() {
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

// Uninterrupted does what must not be half done while the launcher is stopped: a transaction would block all others.
func (s *Suspender) Uninterrupted(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do()
}
