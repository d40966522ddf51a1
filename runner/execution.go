package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// execution is one run from its intent row to its result.
type execution struct {
	*Runner
	plan    *plan
	request Request

	launched   *launching
	tenure     *tenure
	place      Place
	run        catalog.Run
	dir        *workdir
	ingest     *blob.Ingest
	supervisor *sandbox.Supervisor
	group      *cgroup.Group
	staged     []outputs.Entry
	sinks      [2]*logSink // standard output, standard error
	script     *logSink    // nil where a command runs

	mu      sync.Mutex
	stopped *StopSignal

	exit    sandbox.Exit
	report  Report
	entries []outputs.Entry
	totals  outputs.Totals
}

// emptyWait is how long the processes of a control group may take to vanish after the last one was
// killed: the kernel frees them asynchronously.
const emptyWait = 10 * time.Second

// do takes the run through its phases. What it returns is why the run is an error of ours; the run is
// committed in either case.
func (e *execution) do(ctx context.Context) (reason Reason, err error) {
	if err := e.sandbox(ctx); err != nil {
		if errors.Is(err, sandbox.ErrLost) {
			return ReasonSupervisorLost, err
		}
		return ReasonSandbox, err
	}
	if err := e.harvest(); err != nil {
		return ReasonHarvest, err
	}
	return "", nil
}

// sandbox runs the analysis until every process of it is dead and its control group is gone.
func (e *execution) sandbox(ctx context.Context) error {
	err := e.makeDirectories(ctx)
	var launchError error
	e.supervisor, launchError = e.launched.wait()
	if err = errors.Join(launchError, err); err != nil {
		return err
	}
	if err := e.makeGroup(); err != nil {
		return err
	}
	created, err := e.create()
	if err != nil {
		return err
	}
	defer created.Close()
	if e.group != nil {
		if err := e.group.Add(created.Pid); err != nil {
			return err
		}
		stop, err := e.group.WatchOOM(func() { e.tell(e.supervisor.Kill()) })
		if err != nil {
			return fmt.Errorf("watch for out of memory: %w", err)
		}
		defer func() { e.tell(stop()) }()
	}
	if err := e.supervise(created); err != nil {
		return err
	}
	return e.collectEvidence()
}

// tell logs an error that changes nothing about the run.
func (e *execution) tell(err error) {
	if err != nil {
		e.Log.Warn("run "+e.run.ID, "error", err)
	}
}

// makeDirectories makes the working directory and the ingest directory and stages into the former.
func (e *execution) makeDirectories(ctx context.Context) (err error) {
	account := e.plan.account
	if err := e.setAside(ctx, e.plan.key); err != nil {
		return err
	}
	if e.dir, err = makeWorkdir(e.place.Dir, account.HostUID(0), account.HostGID(0)); err != nil {
		return err
	}
	e.place.Dev, e.place.Ino = e.dir.dev, e.dir.ino
	if err := e.tenure.record(e.place); err != nil {
		return err
	}
	if e.ingest, err = e.Blobs.NewIngest(e.run.ID); err != nil {
		return err
	}
	if account.Root() {
		if err := e.ingest.Chown(account.HostUID(0), account.HostGID(0)); err != nil {
			return err
		}
	}
	return errors.Join(e.keepScript(), e.stageInputs(ctx))
}

func (e *execution) stageInputs(ctx context.Context) (err error) {
	if e.plan.stage == nil {
		return nil
	}
	account := e.plan.account
	owner := &outputs.Owner{UID: account.HostUID(0), GID: account.HostGID(0)}
	e.staged, err = outputs.Stage(ctx, e.plan.stage, e.dir.work, owner, outputs.Bounds{})
	if err != nil {
		return err
	}
	for _, entry := range e.staged {
		if entry.Rejected != "" {
			e.report.Warnings = append(e.report.Warnings,
				fmt.Sprintf("not staged: %s (%s)", outputs.Escape(entry.Path), entry.Rejected))
		}
	}
	return nil
}

// makeGroup sets the limits and reads them back.
func (e *execution) makeGroup() error {
	if e.plan.parent == nil {
		e.report.Enforced = enforced(e.plan.analysis, nil)
		return nil
	}
	group, got, err := e.plan.parent.New(groupName(e.plan.key), limitsOf(e.plan.analysis, e.plan.parent))
	if err != nil {
		return err
	}
	e.group = group
	e.report.Enforced = enforced(e.plan.analysis, &got)
	return nil
}

func groupName(key catalog.Key) string { return fmt.Sprintf("%s@%d", key.ID, key.Attempt) }

func (e *execution) create() (*sandbox.Created, error) {
	job, files, err := e.plan.job(e.dir, e.ingest.Dir())
	if err != nil {
		return nil, err
	}
	created, err := e.supervisor.Create(job, files.all)
	return created, errors.Join(err, files.closeMounts())
}

// supervise opens the gate, passes the streams and the user's wish to stop on, and waits for the end.
func (e *execution) supervise(created *sandbox.Created) error {
	done := make(chan struct{})
	var streams sync.WaitGroup
	limit := int64(e.plan.analysis.LogSize)
	e.sinks = [2]*logSink{{ingest: e.ingest, limit: limit}, {ingest: e.ingest, limit: limit}}
	for i, stream := range []struct {
		from io.Reader
		to   io.Writer
	}{{created.Stdout, e.request.Stdout}, {created.Stderr, e.request.Stderr}} {
		streams.Go(func() { e.tell(drain(stream.from, e.sinks[i], stream.to)) })
	}
	var heard sync.WaitGroup
	heard.Go(func() { e.listen(done) })
	err := e.supervisor.Start()
	if err == nil {
		e.exit, err = e.supervisor.Wait(sandbox.Watch{Started: e.started, Usage: e.progress})
	}
	close(done)
	heard.Wait()
	if err != nil {
		return err
	}
	streams.Wait() // every writer is dead: both streams end
	return nil
}

// listen passes the user's wish to stop on: the first asks, the second insists.
func (e *execution) listen(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case signal := <-e.request.Stop:
			e.mu.Lock()
			first := e.stopped == nil
			if first {
				e.stopped = &signal
			}
			e.mu.Unlock()
			if first {
				e.tell(e.supervisor.Stop())
			} else {
				e.tell(e.supervisor.Kill())
			}
		}
	}
}

func (e *execution) started(at time.Time) { e.run.StartedAt = at.UTC() }

// progress passes a sample on; the control group's own figures win over the supervisor's.
func (e *execution) progress(u sandbox.Usage) {
	if e.request.Progress == nil {
		return
	}
	p := Progress{
		ID: e.run.ID, ElapsedMS: time.Since(e.run.StartedAt).Milliseconds(),
		MemoryBytes: u.Memory, Processes: u.Processes,
	}
	if e.group != nil {
		if usage, err := e.group.Usage(); err == nil {
			p.MemoryBytes, p.Processes = usage.Memory, usage.Pids
		}
	}
	e.request.Progress(p)
}

// collectEvidence reads the kernel's counters, proves the control group empty and removes it.
func (e *execution) collectEvidence() error {
	e.report.Usage.WallMS = wall(e.exit).Milliseconds()
	e.report.Usage.CPUMS = e.exit.CPU.Milliseconds()
	e.report.Usage.MemoryPeakBytes = e.exit.MemoryPeak
	if e.group == nil {
		return nil
	}
	if err := e.group.Empty(emptyWait); err != nil {
		return err
	}
	usage, err := e.group.Usage()
	if err != nil {
		return err
	}
	evidence, err := e.group.Evidence()
	if err != nil {
		return err
	}
	e.report.Usage.CPUMS = usage.CPU.Milliseconds()
	e.report.Usage.MemoryPeakBytes = usage.MemoryPeak
	e.report.Usage.PidsPeak = usage.PidsPeak
	e.report.Evidence = Evidence{
		OOMKills: evidence.OOMKills, PidsDenied: evidence.PidsDenied, ThrottledMS: evidence.Throttled.Milliseconds(),
	}
	return e.removeGroup()
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

func wall(exit sandbox.Exit) time.Duration {
	if exit.Started.IsZero() {
		return 0
	}
	return exit.Finished.Sub(exit.Started)
}

// harvest reads the working directory, publishes what it holds, the logs and the script, and makes all
// of it durable.
func (e *execution) harvest() (err error) {
	e.place.Ended = true
	if err := e.tenure.record(e.place); err != nil {
		return err
	}
	unchanged := outputs.Unchanged(e.staged)
	e.totals, err = e.supervisor.Harvest(sandbox.Harvest{
		Exclude: e.plan.analysis.Exclude,
		Partial: e.partial(),
	}, func(entry outputs.Entry) error {
		if unchanged(entry) {
			return nil
		}
		return e.take(entry)
	})
	if err != nil {
		return err
	}
	return errors.Join(e.publishLogs(), e.publishScript(), e.ingest.Sync())
}

// partial reports whether files may have been open for writing when the run ended: whenever it did not
// end by itself.
func (e *execution) partial() bool {
	return e.stopped != nil || e.exit.TimedOut || !e.exit.Ended || e.report.Evidence.OOMKills > 0
}

// take publishes one entry's file and keeps its verdict for the commit.
func (e *execution) take(entry outputs.Entry) error {
	if entry.Rejected != "" {
		e.run.RejectedTotal++
	} else {
		if err := e.ingest.Publish(entry.Ingest, entry.SHA256); err != nil {
			return err
		}
		entry.Ingest = ""
		e.run.OutputsTotal++
		e.report.Usage.WorkFiles++
		e.report.Usage.WorkBytes += entry.Size
		e.plan.declared.Seen(entry.Path)
	}
	e.entries = append(e.entries, entry)
	return nil
}

func (e *execution) publishLogs() error {
	for i, log := range []*Log{&e.report.Logs.Stdout, &e.report.Logs.Stderr} {
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

// commit writes the run's end and its outputs in one transaction.
func (e *execution) commit(ctx context.Context, v verdict) error {
	e.run.State, e.run.Reason, e.run.Message = v.state, string(v.reason), v.message
	e.run.ExitCode, e.run.Signal = v.exitCode, v.signal
	e.run.FinishedAt = time.Now().UTC()
	report, err := json.Marshal(e.report)
	if err != nil {
		return err
	}
	e.run.Report = report
	if e.run.Place, err = json.Marshal(e.place); err != nil {
		return err
	}
	next := 0
	return e.Catalog.Commit(ctx, e.run, func() (outputs.Entry, error) {
		if next == len(e.entries) {
			return outputs.Entry{}, io.EOF
		}
		next++
		return e.entries[next-1], nil
	})
}

// clean removes what the run had on the host, or keeps its working directory where that was asked for.
func (e *execution) clean(ctx context.Context, keep bool) error {
	if e.dir == nil {
		return nil
	}
	supervisor, err := e.living(ctx)
	if err != nil {
		return err
	}
	if err := supervisor.Clean(e.dir.work, keep); err != nil {
		return err
	}
	if keep {
		return e.dir.keep(ctx, e.plan.account, e.plan.links())
	}
	return e.dir.remove()
}

// living returns the supervisor, or a new one where that is gone: files of the analysis' id are out of
// the launcher's reach.
func (e *execution) living(ctx context.Context) (*sandbox.Supervisor, error) {
	if e.supervisor != nil && e.supervisor.Alive() {
		return e.supervisor, nil
	}
	if e.supervisor != nil {
		e.tell(e.supervisor.Close())
	}
	var err error
	e.supervisor, err = sandbox.Launch(ctx, e.plan.account)
	return e.supervisor, err
}

// release gives back what the launcher holds of the run.
func (e *execution) release() error {
	var errs []error
	if e.supervisor != nil {
		errs = append(errs, e.supervisor.Close())
	}
	errs = append(errs, e.removeGroup())
	if e.dir != nil {
		errs = append(errs, e.dir.close())
	}
	if e.ingest != nil {
		errs = append(errs, e.ingest.Close())
	}
	return errors.Join(errs...)
}

// jobFiles are the descriptors that travel with a job; those from mounts on are the job's alone.
type jobFiles struct {
	all    []*os.File
	mounts int
}

func (f jobFiles) closeMounts() error {
	var errs []error
	for _, m := range f.all[f.mounts:] {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
