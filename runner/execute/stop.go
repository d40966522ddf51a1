package execute

import (
	"time"

	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// stops are the stop requests of one run.
type stops struct {
	first  *request.StopSignal // nil: none
	at     time.Time           // when that came
	forced bool                // the analysis was killed before its grace period was over
}

// add notes a request, and reports whether it kills the analysis at once: the second one does.
func (s *stops) add(signal request.StopSignal, at time.Time) (kill bool) {
	s.forced = s.first != nil || signal.Now
	if s.first == nil {
		s.first, s.at = &signal, at
	}
	return s.forced
}

// listen passes the user's stop requests on. Once the analysis has ended, or with the request that kills it, it waits no more
// for unread output: it calls cut.
func (s *stops) listen(requests <-chan request.StopSignal, space *workspace.Workspace, ended, drained <-chan struct{}, cut func()) {
	for {
		select {
		case <-drained:
			return
		case signal := <-requests:
			select {
			case <-ended:
				cut()
				continue
			default:
			}
			if s.add(space.State.Attribute(signal), space.Date(time.Now())) {
				cut()
				space.Kill()
			} else {
				space.Warn(space.Supervisor.Stop())
			}
		}
	}
}

// killIfDamaged kills the analysis if its root filesystem is found damaged.
func killIfDamaged(alarm <-chan struct{}, space *workspace.Workspace, ended <-chan struct{}) {
	select {
	case <-alarm:
		space.Kill()
	case <-ended:
	}
}
