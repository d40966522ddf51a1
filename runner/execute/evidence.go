package execute

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/execute/meter"
)

// collect proves that no process is left, reads the kernel's counters and removes the control group.
func (e *execution) collect() error {
	limits := e.Space.Limits
	if err := limits.Empty(); err != nil {
		return err
	}
	e.report.tell(limits.Check()...)
	if err := e.readCounters(); err != nil {
		return err
	}
	return limits.Remove()
}

// salvage reads the counters of a run whose supervisor or sandbox failed. systemd removes the scope of a dead supervisor, and
// the run's group in it: then the samples are used.
func (e *execution) salvage() error {
	if e.started.IsZero() || e.report.Series != nil {
		return nil
	}
	if !e.Space.Limits.Own() {
		e.measure(meter.Sample{}, result.FromProcesses)
		return nil
	}
	err := errors.Join(e.Space.Limits.Empty(), e.readCounters())
	if e.report.Series != nil {
		return err
	}
	e.measure(meter.Sample{}, result.FromCgroup)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// readCounters reads the counters of the control groups, and of processes if no group is the run's own.
func (e *execution) readCounters() (err error) {
	last, source := meter.Sample{MemoryPeak: e.exit.MemoryPeak, CPU: e.exit.CPU}, result.FromProcesses
	if e.Space.Limits.Own() {
		source = result.FromCgroup
		if last, err = e.groupSample(0); err != nil {
			return err
		}
	}
	evidence, warnings, err := e.Space.Limits.Evidence()
	if err != nil {
		return err
	}
	e.report.Evidence = evidence
	e.report.tell(warnings...)
	e.measure(last, source)
	return nil
}

// measure ends the series with the last sample and sets the usage.
func (e *execution) measure(last meter.Sample, source string) {
	e.report.Series = e.meter.End(last, source, e.exit, &e.report.Usage)
}

// groupSample is a sample of the run's own control group. It is used instead of the supervisor's sums.
func (e *execution) groupSample(at time.Duration) (meter.Sample, error) {
	u, err := e.Space.Limits.Usage()
	return meter.Sample{At: at, Memory: u.Memory, MemoryPeak: u.MemoryPeak, Pids: u.Pids, PidsPeak: u.PidsPeak, CPU: u.CPU}, err
}
