package runner

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// emptyWait is how long the processes of a control group may take to vanish after the last one was killed: the kernel frees
// them asynchronously.
const emptyWait = 10 * time.Second

// collectEvidence reads the kernel's counters, proves the control group empty and removes it.
func (e *execution) collectEvidence() error {
	if e.outer != nil {
		e.collectOuter()
	}
	if e.group == nil {
		e.measure(sample{memoryPeak: e.exit.MemoryPeak, cpu: e.exit.CPU}, result.FromProcesses)
		return nil
	}
	if err := e.group.Empty(emptyWait); err != nil {
		return err
	}
	if err := e.group.Check(); err != nil {
		e.report.Warnings = append(e.report.Warnings, "the limits did not hold to the end: "+result.Sentence(err))
	}
	if err := e.readCounters(); err != nil {
		return err
	}
	return e.removeGroup()
}

// salvageEvidence reads the counters of a run whose supervisor or sandbox failed. systemd removes the scope of a dead
// supervisor, and the run's group in it: then the samples are used.
func (e *execution) salvageEvidence() error {
	if e.run.StartedAt.IsZero() || e.report.Series != nil {
		return nil
	}
	if e.group == nil {
		e.measure(sample{}, result.FromProcesses)
		return nil
	}
	err := errors.Join(e.group.Empty(emptyWait), e.readCounters())
	if e.report.Series != nil {
		return err
	}
	e.measure(sample{}, result.FromCgroup)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// readCounters reads the counters of the control group.
func (e *execution) readCounters() error {
	usage, err := e.group.Usage()
	if err != nil {
		return err
	}
	evidence, err := e.group.Evidence()
	if err != nil {
		return err
	}
	e.report.Evidence = evidenceOf(evidence, int64(e.plan.Analysis.Memory))
	e.measure(groupSample(0, usage), result.FromCgroup)
	return nil
}

// measure ends the series with the last sample and sets the run's usage. An uncounted peak is the maximum of the samples.
func (e *execution) measure(last sample, source string) {
	u := &e.report.Usage
	last.at = e.wall()
	u.WallMS, u.CPUMS = last.at.Milliseconds(), last.cpu.Milliseconds()
	u.SuspendedMS = max(e.exit.Suspended, e.clock.Stood()).Milliseconds()
	if e.run.StartedAt.IsZero() {
		return
	}
	r := &e.recorder
	r.end(last)
	r.series.Source = source
	e.report.Series = &r.series
	u.MemoryPeakBytes, u.PidsPeak = r.memoryPeak, r.pidsPeak
	if last.cpu == 0 {
		u.CPUMS = r.series.CPUMS[len(r.series.CPUMS)-1]
		u.Sampled = append(u.Sampled, "cpu_ms")
	}
	if last.memoryPeak == 0 || source == result.FromProcesses { // that of one process is not that of all
		u.Sampled = append(u.Sampled, "memory_peak_bytes")
	}
	if last.pidsPeak == 0 {
		u.Sampled = append(u.Sampled, "pids_peak")
	}
}

func (e *execution) removeGroup() error {
	if e.group == nil {
		return nil
	}
	err := e.group.Remove()
	if err == nil {
		e.group = nil
	}
	return err
}

// wall returns how long the analysis ran, without the time it was suspended. Where its supervisor died, it is until the
// launcher noticed.
func (e *execution) wall() time.Duration {
	switch {
	case !e.exit.Started.IsZero():
		return max(0, e.exit.Finished.Sub(e.exit.Started)-e.exit.Suspended)
	case !e.run.StartedAt.IsZero():
		return max(0, e.clock.Ran())
	default:
		return 0
	}
}
