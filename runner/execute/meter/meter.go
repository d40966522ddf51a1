// Package meter measures what an analysis uses while it runs: the time, without suspensions, and a series of samples.
package meter

import (
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/host/clock"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// Meter measures one run. The zero value has not started.
type Meter struct {
	clock    clock.Stopwatch // as the launcher sees it
	started  bool
	recorder recorder
	last     event.Usage
}

// Start starts the clock as if at the given time.
func (m *Meter) Start(at time.Time) {
	m.started = true
	m.clock.Start(at)
}

// Pause stops the clock, and returns the usage up to now.
func (m *Meter) Pause() event.Usage {
	m.clock.Pause()
	last := m.last
	last.Suspended = true
	return last
}

// Resume continues the clock, and returns the usage up to its pause.
func (m *Meter) Resume() event.Usage {
	m.clock.Resume()
	return m.last
}

// Ran is the time since the start, without pauses.
func (m *Meter) Ran() time.Duration { return m.clock.Ran() }

// Add adds a sample. First reports whether it is the one of the start.
func (m *Meter) Add(s Sample) (u event.Usage, first bool) {
	first = len(m.recorder.series.TMS) == 0
	m.recorder.add(s)
	m.last = event.Usage{
		ElapsedMS: s.At.Milliseconds(), CPUMS: s.CPU.Milliseconds(), MemoryBytes: s.Memory, Processes: s.Pids,
	}
	return m.last, first
}

// End ends the series with the last sample and sets the usage of the run. A peak that was not counted is the maximum of the
// samples; source says where they are from (result.FromCgroup, result.FromProcesses). The series is nil if the analysis
// has not started.
func (m *Meter) End(last Sample, source string, exit sandbox.Exit, u *result.Usage) *result.Series {
	if last.At = m.wall(exit); m.started {
		last.At = max(last.At, time.Millisecond) // 0 is that of a run that has not started
	}
	u.WallMS, u.CPUMS = last.At.Milliseconds(), last.CPU.Milliseconds()
	u.SuspendedMS = max(exit.Suspended, m.clock.Stood()).Milliseconds()
	if !m.started {
		return nil
	}
	r := &m.recorder
	r.end(last)
	r.series.Source = source
	u.MemoryPeakBytes, u.PidsPeak = r.memoryPeak, r.pidsPeak
	if most := r.series.CPUMS[len(r.series.CPUMS)-1]; last.CPU == 0 || u.CPUMS < most { // killed processes are not in a sum at the end
		u.CPUMS = most
		u.Sampled = append(u.Sampled, "cpu_ms")
	}
	if last.MemoryPeak == 0 || source == result.FromProcesses { // that of one process is not that of all
		u.Sampled = append(u.Sampled, "memory_peak_bytes")
	}
	if last.PidsPeak == 0 {
		u.Sampled = append(u.Sampled, "pids_peak")
	}
	return &r.series
}

// wall is how long the analysis ran, without suspensions. If its supervisor died, it is until the launcher noticed.
func (m *Meter) wall(exit sandbox.Exit) time.Duration {
	if !exit.Started.IsZero() {
		return max(0, exit.Finished.Sub(exit.Started)-exit.Suspended)
	}
	return max(0, m.clock.Ran())
}
