package supervisor

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/clock"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
)

// pause suspends an analysis: all its processes, by SIGSTOP, which cannot be caught, and its clock.
//
// The container's init sends it with kill(-1), which reaches every process of the namespace at once. A process being
// forked is among them, or its fork restarts after the stop (fork fails with a signal pending). init keeps running: it
// forwards SIGCONT and SIGTERM.
type pause struct {
	*processes

	ran     clock.Stopwatch // of the analysis
	changed chan struct{}   // wakes the clock
	wanted  atomic.Bool

	mu     sync.Mutex // serialises changes and their answers
	ending bool       // the analysis is being stopped: it cannot be suspended
	closed bool       // no more answers are sent
}

func newPause(p *processes) *pause { return &pause{processes: p, changed: make(chan struct{}, 1)} }

// suspend stops the analysis and notifies the launcher once all of it has stopped. It returns at once.
func (p *pause) suspend() {
	p.wanted.Store(true)
	p.tasks.Go(func() {
		select {
		case <-p.executed: // signals before our init listens would be lost
		case <-p.ended:
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.ending {
			p.answer(protocol.Message{Type: protocol.MsgResumed})
			return
		}
		if !p.wanted.Load() {
			return // resume answers
		}
		if p.ran.Pause() {
			p.tellClock()
		}
		answer := protocol.Message{Type: protocol.MsgSuspended}
		if err := p.stopAll(); err != nil {
			answer.Error = err.Error()
		}
		p.answer(answer)
	})
}

// resume continues a suspended analysis, and notifies the launcher.
func (p *pause) resume() {
	p.wanted.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.goOn()
	p.answer(protocol.Message{Type: protocol.MsgResumed})
}

// end continues a suspended analysis that is being stopped.
func (p *pause) end() {
	p.wanted.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = true
	if p.goOn() {
		p.answer(protocol.Message{Type: protocol.MsgResumed})
	}
}

// close stops the answers: none follows exited.
func (p *pause) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

func (p *pause) goOn() bool {
	if !p.ran.Resume() {
		return false
	}
	p.tellClock()
	_ = p.container.Signal(syscall.SIGCONT) // fails only if the container has ended
	return true
}

func (p *pause) answer(m protocol.Message) {
	if !p.closed {
		p.launcher.tell(m)
	}
}

func (p *pause) tellClock() {
	select {
	case p.changed <- struct{}{}:
	default: // not checked yet
	}
}

// Processes stop only when they leave the kernel.
const (
	stopWait = 5 * time.Second
	stopLook = time.Millisecond
)

// stopAll sends the signal until two checks in a row find nothing running.
func (p *pause) stopAll() error {
	deadline := time.Now().Add(stopWait)
	for still := 0; still < 2; time.Sleep(stopLook) {
		if err := p.container.Signal(syscall.SIGTSTP); err != nil {
			return err
		}
		running, err := procs.CountRunning(p.proc.Name())
		switch {
		case err != nil:
			return fmt.Errorf("check that the analysis is stopped: %w", err)
		case running == 0:
			still++
			continue
		case !p.wanted.Load() || p.haveEnded():
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d threads of the analysis could not be stopped within %v", running, stopWait)
		}
		still = 0
	}
	return nil
}
