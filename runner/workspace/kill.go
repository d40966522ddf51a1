package workspace

// Kill ends the analysis at once.
func (w *Workspace) Kill() {
	w.Warn(w.Supervisor.Kill())
	w.Warn(w.Limits.Empty())
}
