package supervisor

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
)

// processes are those of one container.
type processes struct {
	container *container.Container
	proc      *os.File      // the container's /proc; nil if it could not be opened
	executed  chan struct{} // closed when the analysis starts
	ended     chan struct{} // closed when every process is dead
	killing   sync.Once
	counting  sync.Once
	cpu       time.Duration // used up to the kill; valid after counting
	launcher  launcher
	tasks     *sync.WaitGroup // the session's
}

// kill ends the analysis at once. Killing the container's init would suffice: the kernel then kills the rest of the
// namespace, but only once that init is scheduled, among whatever the analysis runs. So every process gets its own
// signal, and the launcher, which has the control group, is notified. init comes first, so that it does not report the
// end of a killed analysis.
func (p *processes) kill() error {
	p.counting.Do(p.count)
	err := p.container.Signal(syscall.SIGKILL)
	p.killing.Do(func() {
		if p.proc != nil {
			p.tasks.Go(p.killRest)
		}
		p.launcher.tell(protocol.Message{Type: protocol.MsgKilled})
	})
	return err
}

// count reads the CPU time of processes that are about to be killed. Nobody waits for those that die with the container's init,
// so no parent gets their times (wait(2), on ignored SIGCHLD).
func (p *processes) count() {
	if p.proc == nil {
		return
	}
	if usage, err := procs.Usage(p.proc.Name()); err == nil {
		p.cpu = usage.CPU
	}
}

// counted is the CPU time that count read, 0 if nothing was killed.
func (p *processes) counted() time.Duration {
	p.counting.Do(func() {})
	return p.cpu
}

// killNow is kill without an error: if the signal fails, the connection's end kills the namespace.
func (p *processes) killNow() { _ = p.kill() }

// killRest repeats it, to catch concurrent forks, until every process is dead.
func (p *processes) killRest() {
	for pause := (backoff.Backoff{First: time.Millisecond, Longest: 50 * time.Millisecond}); ; {
		_ = procs.Kill(p.proc.Name()) // the rest dies with init
		select {
		case <-p.ended:
			return
		case <-time.After(pause.Next()):
		}
	}
}

// endReports keeps later kills from the launcher.
func (p *processes) endReports() { p.killing.Do(func() {}) }

// haveEnded reports whether every process is dead.
func (p *processes) haveEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
