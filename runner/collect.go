package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// emptyWait is how long the processes of a control group may take to vanish after the last one was
// killed: the kernel frees them asynchronously.
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

// salvageEvidence reads the counters of a run under which the supervisor or the sandbox failed. systemd removes
// the scope of a supervisor that is gone, and the run's group in it: then there are the samples.
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

// readCounters reads what the control group has counted.
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

// measure ends the series with the last sample and says what the run used. A peak that nobody counted is
// the greatest of the samples.
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

// wall is how long the analysis ran, without the time in which it was suspended. Where its supervisor has not lived
// to tell, it is until the launcher knew.
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

// harvest reads the working directory, publishes what it holds, the logs and the script, and makes all
// of it durable. Where it ends early, what it has published by then is committed.
func (e *execution) harvest() (err error) {
	defer e.span("harvest")()
	if !e.plan.InMemory() && !e.recovered { // what is in memory does not outlive us
		e.tell(e.keepAftermath()) // without it gc keeps the directory and does not harvest it
		e.place.Ended = true
	}
	if err := e.tenure.Record(e.place); err != nil {
		return err
	}
	err = e.trace.Do(trace.Run, "read the working directory", e.gather)
	defer e.span("publish")()
	err = errors.Join(err, e.publishLogs(), e.publishScript())
	if failed := e.ingest.Sync(); failed != nil {
		err = errors.Join(err, failed)
		e.disown() // their blobs may not outlive a power cut, or not be there
		e.run.Blobs, e.report.Script = nil, nil
		e.report.Logs.Stdout.SHA256, e.report.Logs.Stderr.SHA256 = "", ""
	}
	return err
}

// gather takes every entry of the working directory but what was staged and is as it was.
func (e *execution) gather() error {
	e.entries.create = func() (*os.File, error) { return e.ingest.Scratch() }
	_, err := e.harvestTree(sandbox.Harvest{
		Bounds:  e.harvestBounds(),
		Exclude: e.plan.Analysis.Exclude,
		Partial: e.partial(),
		Link:    e.plan.Analysis.Keep == spec.KeepNever,
	}, outputs.Unchanged(e.staged))
	if failed := e.entries.end(); failed != nil {
		e.disown()
		return errors.Join(err, failed)
	}
	return err
}

// harvestTree takes the entries that are not unchanged.
func (e *execution) harvestTree(h sandbox.Harvest, unchanged func(outputs.Entry) bool) (outputs.Totals, error) {
	take := func(entry outputs.Entry) error {
		if unchanged(entry) {
			return nil
		}
		return e.take(entry)
	}
	if !e.recovered {
		return e.supervisor.Harvest(h, take)
	}
	h.Resumed, h.Links = true, e.plan.Links()
	h.Below = workspace.WorkName
	if !e.plan.Account.Root() {
		return e.supervisor.HarvestOf(e.dir.Dir, e.ingest.Dir(), h, take)
	}
	// The host's root may open everything, and what is above /work is root's and not the supervisor's.
	work, err := workspace.OpenDir(int(e.dir.Dir.Fd()), workspace.WorkName)
	if err != nil {
		return outputs.Totals{}, err
	}
	defer work.Close()
	h.Below = "."
	return e.supervisor.HarvestOf(work, e.ingest.Dir(), h, take)
}

// disown leaves every entry out of the commit: the working directory is kept, and it is complete.
func (e *execution) disown() {
	e.entries.forget()
	e.excerpt = result.Excerpt{}
	e.run.OutputsTotal, e.run.RejectedTotal = 0, 0
}

// partial reports whether any file may have been open for writing when the run ended: whenever it did not end by itself, and
// where it is not known which processes that it left had open. A supervisor knows that of its own run alone.
func (e *execution) partial() bool {
	if e.exit.Unseen || e.exit.Writers && e.recovered {
		return true
	}
	return e.stopped != nil || e.exit.TimedOut || !e.exit.Ended || e.report.Evidence.OOMKills > 0 || (judge.Ending{Exit: e.exit}).RanFull()
}

// take publishes one entry's file and keeps its verdict for the commit and for the result.
func (e *execution) take(entry outputs.Entry) error {
	if entry.Rejected == "" {
		if err := e.ingest.Gather(entry.Ingest, entry.SHA256); err != nil {
			return err
		}
		entry.Ingest = ""
	}
	if err := e.entries.add(entry); err != nil {
		return err
	}
	e.excerpt.Add(entry)
	if entry.Rejected != "" {
		e.run.RejectedTotal++
		return nil
	}
	e.run.OutputsTotal++
	e.gathered += entry.Size
	e.plan.Declared.Seen(entry.Path)
	return nil
}

func (e *execution) publishLogs() error {
	for i, log := range []*result.Log{&e.report.Logs.Stdout, &e.report.Logs.Stderr} {
		if e.sinks[i] == nil {
			continue
		}
		var err error
		if *log, err = e.sinks[i].publish(); err != nil {
			return fmt.Errorf("keep the log: %w", err)
		}
		if log.SHA256 != "" {
			e.run.Blobs = append(e.run.Blobs, log.SHA256)
		}
	}
	return nil
}
