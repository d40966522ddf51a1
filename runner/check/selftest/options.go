package selftest

import (
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/target"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Label is on every run of a selftest; its value is the selftest's id.
const Label = "ai.scidex.selftest"

// Options of a selftest.
type Options struct {
	// Analysis holds the flags of the runs to prove: inputs, limits, ids. Its command is ignored.
	Analysis spec.Analysis
	// NoAudit is as in the requests of those runs.
	NoAudit bool
	// Targets must not be reached. None means target.Default.
	Targets []target.Target
	// Each, where not nil, is called with every check as it is known.
	Each func(report.Check)
	// Stop ends the selftest, as it ends a run.
	Stop <-chan request.StopSignal
}
