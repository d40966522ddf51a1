package runner

// noteSpace adds the usage of /work to the report.
func (e *execution) noteSpace() {
	e.report.Usage.WorkBytes, e.report.Usage.WorkFiles = e.exit.Work.Bytes, e.exit.Work.Files
	if full := e.exit.WorkFull; full != nil {
		e.report.Evidence.WorkBytes, e.report.Evidence.WorkFiles = full.Bytes, full.Files
	}
	if short := e.exit.HostFull; short != nil {
		e.report.Evidence.HostFree, e.report.Evidence.HostFloor = short.Free, short.Floor
	}
}
