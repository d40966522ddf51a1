package execute

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/execute/limits"
	"github.com/scidex-ai/scidex-oci/runner/execute/meter"
)

// collect reads the kernel's counters, proves the control group empty and removes it.
func (e *execution) collect() error {
	if e.outer != nil {
		evidence, warnings := e.outer.Collect()
		e.report.Evidence = evidence
		e.report.tell(warnings...)
	}
	group := e.Space.Group
	if group == nil {
		e.measure(meter.Sample{MemoryPeak: e.exit.MemoryPeak, CPU: e.exit.CPU}, result.FromProcesses)
		return nil
	}
	if err := e.Space.EmptyGroup(); err != nil {
		return err
	}
	if err := group.Check(); err != nil {
		e.report.tell("the limits did not hold to the end: " + result.Sentence(err))
	}
	if err := e.readCounters(); err != nil {
		return err
	}
	return e.Space.RemoveGroup()
}

// salvage reads the counters of a run whose supervisor or sandbox failed. systemd removes the scope of a dead supervisor, and
// the run's group in it: then the samples are used.
func (e *execution) salvage() error {
	if e.started.IsZero() || e.report.Series != nil {
		return nil
	}
	if e.Space.Group == nil {
		e.measure(meter.Sample{}, result.FromProcesses)
		return nil
	}
	err := errors.Join(e.Space.EmptyGroup(), e.readCounters())
	if e.report.Series != nil {
		return err
	}
	e.measure(meter.Sample{}, result.FromCgroup)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// readCounters reads the counters of the control group.
func (e *execution) readCounters() error {
	usage, err := e.Space.Group.Usage()
	if err != nil {
		return err
	}
	evidence, err := e.Space.Group.Evidence()
	if err != nil {
		return err
	}
	e.report.Evidence = limits.Evidence(evidence, int64(e.Plan.Analysis.Memory))
	e.measure(groupSample(0, usage), result.FromCgroup)
	return nil
}

// measure ends the series with the last sample and sets the usage.
func (e *execution) measure(last meter.Sample, source string) {
	e.report.Series = e.meter.End(last, source, e.exit, &e.report.Usage)
}

// groupSample is the control group's sample, which counts more than the supervisor's sums.
func groupSample(at time.Duration, u cgroup.Usage) meter.Sample {
	return meter.Sample{At: at, Memory: u.Memory, MemoryPeak: u.MemoryPeak, Pids: u.Pids, PidsPeak: u.PidsPeak, CPU: u.CPU}
}
