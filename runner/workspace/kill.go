package workspace

import "time"

// emptyWait is how long the processes of a control group may take to vanish after the last one was killed: the kernel frees
// them asynchronously.
const emptyWait = 10 * time.Second

// Kill ends the analysis at once.
func (w *Workspace) Kill() {
	w.Warn(w.Supervisor.Kill())
	w.KillGroup()
}

// KillGroup kills every process of the control group, if any, without scheduling any of them.
func (w *Workspace) KillGroup() {
	if w.Group != nil {
		w.Warn(w.EmptyGroup())
	}
}

// EmptyGroup kills every process of the control group, and proves that there is none left.
func (w *Workspace) EmptyGroup() error { return w.Group.Empty(emptyWait) }
