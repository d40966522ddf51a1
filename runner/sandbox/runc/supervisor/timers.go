package supervisor

import (
	"context"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
)

// timeout ends the run at its timeout. It waits for no one, not even an unresponsive launcher.
func (a *analysis) timeout() {
	deadline := time.NewTimer(a.job.Timeout)
	defer deadline.Stop()
	for {
		select {
		case <-a.ended:
			return
		case <-a.pause.changed:
		case <-deadline.C:
		}
		left := a.job.Timeout - a.pause.ran.Ran()
		if left <= 0 {
			a.timedOut = true
			a.stop()
			return
		}
		deadline.Stop()
		if !a.pause.ran.Standing() {
			deadline.Reset(left)
		}
	}
}

// sample reports the run's use at the start and then once a second, except while suspended: a stopped launcher does not
// read.
func (a *analysis) sample() {
	next := time.NewTicker(time.Second)
	defer next.Stop()
	for {
		if usage, err := procs.Usage(a.proc.Name()); err == nil && !a.pause.ran.Standing() {
			a.launcher.tell(protocol.Message{Type: protocol.MsgUsage, Usage: &usage})
		}
		select {
		case <-a.ended:
			return
		case <-next.C:
		}
	}
}

// stop ends the analysis gracefully, once.
func (a *analysis) stop() { a.stopping.Do(func() { a.tasks.Go(a.terminate) }) }

func (a *analysis) terminate() {
	grace, cancel := context.WithTimeout(context.Background(), a.job.Grace)
	defer cancel()
	select {
	case <-a.executed: // signals before our init listens would be lost
		_ = a.container.Signal(syscall.SIGTERM) // SIGKILL follows if it fails
		a.tasks.Go(a.pause.end)                 // which blocks if the launcher does not read
	case <-a.ended:
	case <-grace.Done():
	}
	select {
	case <-a.ended:
		return
	case <-grace.Done():
	}
	a.killNow()
}
