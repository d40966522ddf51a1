package runner

import (
	"github.com/scidex-ai/scidex-oci/outputs"
)

// harvestBounds are those of /work; where a run went past them, as far as it was seen to, so that what was
// written is kept.
func (e *execution) harvestBounds() outputs.Bounds {
	bounds := e.plan.Bounds()
	if e.exit.WorkFull != nil {
		bounds.MaxBytes = max(bounds.MaxBytes, e.exit.Work.Bytes)
		bounds.MaxEntries = max(bounds.MaxEntries, e.exit.Work.Files)
	}
	return bounds
}

// noteSpace adds what was seen of /work to the report.
func (e *execution) noteSpace() {
	e.report.Usage.WorkBytes, e.report.Usage.WorkFiles = e.exit.Work.Bytes, e.exit.Work.Files
	if full := e.exit.WorkFull; full != nil {
		e.report.Evidence.WorkBytes, e.report.Evidence.WorkFiles = full.Bytes, full.Files
	}
	if short := e.exit.HostFull; short != nil {
		e.report.Evidence.HostFree, e.report.Evidence.HostFloor = short.Free, short.Floor
	}
}
