package supervisor

import (
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/procs"
)

// kill ends the analysis at once. Killing the container's init would suffice: the kernel then kills the rest of the
// namespace, but only once that init is scheduled, beside whatever the analysis runs. So every process gets its own
// signal, and the launcher, which has the control group, is notified. init comes first, so that it does not report the
// end of a killed analysis.
func (w *worker) kill() error {
	err := w.container.Signal(syscall.SIGKILL)
	w.killing.Do(func() {
		if w.proc != nil {
			w.tasks.Go(w.killRest)
		}
		w.tell(protocol.Message{Type: protocol.MsgKilled})
	})
	return err
}

// killRest repeats it, to catch concurrent forks, until every process is dead.
func (w *worker) killRest() {
	const longest = 50 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		_ = procs.Kill(w.proc.Name()) // the rest dies with init
		select {
		case <-w.ended:
			return
		case <-time.After(pause):
		}
	}
}
