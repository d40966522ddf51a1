package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/clock"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/container"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/procs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/scratch"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/watchdog"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/unotify"
)

// analysis is a created container with what watches and ends it.
type analysis struct {
	*processes

	job      *protocol.Job
	work     *workdir
	scratch  *scratch.Dirs
	landlock int    // the version that holds it; 0: none
	fixed    bool   // the kernel confirms fixed addresses
	watched  bool   // the container runs, and watch handles its end
	early    *early // nil: it starts with its turn
	pause    *pause
	watchdog *watchdog.Watchdog // nil until the command starts
	audit    *unotify.Watch     // nil: none
	timers   sync.WaitGroup     // timeout and sample
	timedOut bool               // valid after timers
	stopping sync.Once
}

func newAnalysis(r *run, c *container.Container) *analysis {
	p := &processes{
		container: c, executed: make(chan struct{}), ended: make(chan struct{}), launcher: r.launcher, tasks: r.tasks,
	}
	return &analysis{processes: p, job: r.job, work: &r.work, pause: newPause(p)}
}

// start lets the analysis begin. What was not prepared is opened first.
func (a *analysis) start(ctx context.Context) error {
	if a.early == nil || a.early.ready == nil {
		if err := a.open(ctx); err != nil {
			return err
		}
	}
	return a.early.begin(a)
}

// open opens the gate and watches in a goroutine, so that stop and kill are handled.
func (a *analysis) open(ctx context.Context) error {
	if err := a.launcher.trace.Do(trace.Supervisor, "open the gate", a.container.Start); err != nil {
		return err
	}
	a.watched = true
	a.tasks.Go(func() { a.watch(ctx) })
	return nil
}

// watch waits for the end of the analysis and reports it.
func (a *analysis) watch(ctx context.Context) {
	exit := sandbox.Exit{}
	waited := a.launcher.span("watch the container")
	got, err := a.container.Wait(container.Watch{
		Audited:  func(notifications *os.File) { a.audit = unotify.Start(notifications, a.killNow) },
		Ruled:    func(version int) { a.landlock = version },
		Executed: func() { exit.Started = a.begin(ctx) },
		Left: func() {
			a.counting.Do(a.count)
			var err error
			a.work.writers, err = procs.WorkWriters(a.proc.Name(), a.job.WorkDirs)
			exit.Unseen, exit.Writers = err != nil, len(a.work.writers) > 0
		},
	})
	waited()
	exit.Finished, exit.Suspended = time.Now(), a.pause.ran.Stood()
	if !exit.Started.IsZero() {
		exit.Finished = clock.After(exit.Started, exit.Finished)
	}
	exit.Scratch = a.scratch.Names()
	a.scratch.Close()
	close(a.ended)
	a.pause.close()
	a.endReports()
	a.timers.Wait() // no sample follows exited
	ended := a.launcher.span("end the audit, look at /work")
	a.bounds(ctx, &exit)
	err = errors.Join(err, a.audited(&exit), a.container.Destroy())
	ended()
	if err != nil {
		a.launcher.fail(err)
		return
	}
	exit.Ahead, exit.Unhooked = a.early != nil, a.early.mayHaveRun()
	exit.Executed, exit.Errno, exit.Ended, exit.Status = got.Executed, got.Errno, got.Ended, got.Status
	exit.FixedAddresses, exit.TimedOut = a.fixed, a.timedOut
	exit.CPU, exit.MemoryPeak = max(got.CPU, a.counted()), got.MemoryPeak
	_ = a.launcher.reply(protocol.Message{Type: protocol.MsgExited, Exit: &exit})
}

// begin starts what watches an analysis, which starts now.
func (a *analysis) begin(ctx context.Context) (at time.Time) {
	at = time.Now()
	a.pause.ran.Start(at)
	close(a.executed)
	if a.watchdog == nil {
		a.watchdog = a.watchBounds(ctx)
	}
	a.launcher.tell(protocol.Message{Type: protocol.MsgStarted, At: clock.Boot(), Landlock: a.landlock})
	a.timers.Go(a.timeout)
	a.timers.Go(a.sample)
	return at
}

// audited records the audit. An error means that it ended early, and the analysis was killed for it.
func (a *analysis) audited(exit *sandbox.Exit) (err error) {
	if a.audit == nil {
		return nil
	}
	exit.Audit, err = a.audit.Wait()
	if errors.Is(err, unotify.ErrLost) {
		return fmt.Errorf("the analysis was killed: %w; run it again, or with --audit off", err)
	}
	if err != nil {
		exit.AuditError = err.Error()
	}
	return nil
}

// end kills every process and waits until all are dead.
func (a *analysis) end() error {
	if err := a.kill(); err != nil || a.watched {
		return err
	}
	defer close(a.ended)
	_, err := a.container.Wait(container.Watch{}) // it waits at its gate
	return errors.Join(err, a.container.Destroy())
}
