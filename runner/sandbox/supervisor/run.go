package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/audit"
	"github.com/scidex-ai/scidex-oci/runner/container"
	"github.com/scidex-ai/scidex-oci/runner/host/threads"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/procs"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/rootmount"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/watchdog"
)

// worker is the supervisor's part of one run.
type worker struct {
	conn      *protocol.Conn
	area      rootmount.Area
	job       *protocol.Job
	work      *os.File // /work
	disk      *os.File // working directory if /work is a tmpfs, else nil
	ingest    *os.File
	hold      *os.File // kept open while anything of the run lives
	proc      *os.File // the container's /proc
	container *container.Container
	audit     *audit.Watch       // nil: none
	watchdog  *watchdog.Watchdog // nil until the analysis starts
	pause     *pause
	writers   []outputs.Inode // files in /work open for writing when the analysis ended and its processes were killed
	fixed     bool            // the kernel confirms fixed addresses
	stopping  sync.Once
	killing   sync.Once
	timedOut  chan struct{} // closed when the run timed out
	executed  chan struct{} // closed when the analysis starts
	ended     chan struct{} // closed when every process is dead

	watched bool           // the container runs, and watch handles its end
	tasks   sync.WaitGroup // all goroutines of the run

	trace *trace.Tracer // nil: nothing is traced
}

// handle answers one message. Errors are sent as failed.
func (w *worker) handle(ctx context.Context, m protocol.Message) error {
	switch m.Type {
	case protocol.MsgJob:
		return w.create(ctx, m)
	case protocol.MsgStart:
		return w.start(ctx)
	case protocol.MsgSuspend:
		w.pause.suspend()
		return nil
	case protocol.MsgResume:
		w.pause.resume()
		return nil
	case protocol.MsgStop, protocol.MsgKill:
		return w.end(m.Type)
	case protocol.MsgHarvest:
		return w.harvest(ctx, m)
	case protocol.MsgClean:
		return w.clean(ctx, m)
	default:
		return fmt.Errorf("unknown message %q", m.Type)
	}
}

// end stops or kills a container, if there is one.
func (w *worker) end(how string) error {
	if w.container == nil {
		return nil
	}
	if how == protocol.MsgKill {
		return w.kill()
	}
	w.stop()
	return nil
}

func (w *worker) create(ctx context.Context, m protocol.Message) error {
	w.job = m.Job
	w.timedOut, w.executed, w.ended = make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.pause = newPause(w)
	if len(m.Files) < 2 {
		protocol.Discard(m.Files)
		return fmt.Errorf("job %q came with %d descriptors", w.job.ID, len(m.Files))
	}
	w.work, w.ingest = m.Files[0], m.Files[1]
	placed := w.span("make /work ready")
	files, err := w.place(ctx, m.Files)
	placed()
	defer func() { protocol.Discard(files[2:]) }()
	if err != nil {
		return err
	}
	if i := w.job.Hold; protocol.Given(files, i) != nil {
		w.hold, files[i] = files[i], nil
	}
	staged := w.span("stage the root filesystem and the binds")
	if w.area, err = rootmount.NewArea(w.job.ID); err != nil {
		return fmt.Errorf("stage the file systems: %w", err)
	}
	walls, err := w.area.Stage(w.job, files)
	staged()
	if err != nil {
		return fmt.Errorf("stage the file systems: %w", err)
	}
	streams, err := newStreams(w.job.Owner)
	if err != nil {
		return err
	}
	defer protocol.Discard(streams.child())
	created := w.span("create the container")
	w.container, err = container.Create(container.Config{
		ID: w.job.ID, StateDir: w.area.State(), Spec: w.job.Spec, Filter: w.job.Filter, Audit: w.job.Audit,
		FixedAddresses: w.job.FixedAddresses,
		Stdin:          streams.null, Stdout: streams.stdout[1], Stderr: streams.stderr[1],
		Trace: w.trace,
	})
	created()
	if err != nil {
		return errors.Join(err, closeAll(streams.parent()))
	}
	// The container has its own copies of these mounts. Here, every new container's mount namespace would copy them, and
	// they would keep what is in a /tmp. The kernel takes time for each; an error recurs at the session's end and is
	// reported then.
	w.tasks.Go(func() { _ = w.area.Unmount() })
	if w.job.Crowded {
		threads.Reserve()
	}
	pid, err := w.container.Pid()
	if err == nil {
		w.proc, err = procs.Open(pid)
	}
	if err != nil {
		return errors.Join(err, closeAll(streams.parent()))
	}
	if w.job.FixedAddresses {
		if w.fixed, err = w.container.FixedAddresses(); err != nil {
			return errors.Join(err, closeAll(streams.parent()))
		}
	}
	return w.created(streams, walls)
}

// place prepares /work. It returns the files with the new mount in place of the first.
func (w *worker) place(ctx context.Context, files []*os.File) (_ []*os.File, err error) {
	if w.job.WorkTmpfs != nil {
		if files, err = w.workInMemory(ctx, files); err != nil {
			return files, err
		}
		files[0] = w.work
	}
	return files, w.ownWork(ctx)
}

// ownWork gives the working directory and its staged files to the analysis, and makes its links.
func (w *worker) ownWork(ctx context.Context) error {
	if err := outputs.Own(ctx, w.work, w.job.Owner, w.job.Owner, nil); err != nil {
		return fmt.Errorf("own the working directory: %w", err)
	}
	fd := int(w.work.Fd())
	if err := errors.Join(unix.Fchown(fd, w.job.Owner, w.job.Owner), unix.Fchmod(fd, 0o700)); err != nil {
		return fmt.Errorf("own the working directory: %w", err)
	}
	for name, target := range w.job.Links {
		err := unix.Symlinkat(target, fd, name)
		if errors.Is(err, unix.EEXIST) {
			continue // a staged file has the name
		}
		if err == nil {
			err = unix.Fchownat(fd, name, w.job.Owner, w.job.Owner, unix.AT_SYMLINK_NOFOLLOW)
		}
		if err != nil {
			return fmt.Errorf("link %q: %w", name, err)
		}
	}
	return nil
}

func (w *worker) created(streams *streams, walls protocol.Walls) error {
	err := w.conn.Send(protocol.Message{Type: protocol.MsgCreated, Walls: walls, Spans: w.trace.Take()}, w.container.Pidfd(), streams.stdout[0], streams.stderr[0])
	return errors.Join(err, closeAll(streams.parent()))
}

// start opens the gate and watches in a goroutine, so that stop and kill are handled.
func (w *worker) start(ctx context.Context) error {
	if err := w.trace.Do(trace.Supervisor, "open the gate", w.container.Start); err != nil {
		return err
	}
	w.watched = true
	w.tasks.Go(func() { w.watch(ctx) })
	return nil
}

func (w *worker) watch(ctx context.Context) {
	exit := protocol.Exit{}
	clock := make(chan struct{})
	var samples sync.WaitGroup
	waited := w.span("watch the container")
	got, err := w.container.Wait(container.Watch{
		Audited: func(notifications *os.File) { w.audit = audit.Start(notifications, w.killNow) },
		Executed: func() {
			exit.Started = time.Now()
			w.pause.ran.Start(exit.Started)
			close(w.executed)
			w.watchdog = w.release(ctx)
			w.tell(protocol.Message{Type: protocol.MsgStarted, At: exit.Started})
			go func() { defer close(clock); w.clock() }()
			samples.Go(w.sample)
		},
		Left: func() {
			var err error
			w.writers, err = procs.WorkWriters(w.proc.Name())
			exit.Unseen, exit.Writers = err != nil, len(w.writers) > 0
		},
	})
	waited()
	exit.Finished, exit.Suspended = time.Now(), w.pause.ran.Stood()
	close(w.ended)
	w.pause.close()
	w.killing.Do(func() {}) // no kill is reported any more
	if !exit.Started.IsZero() {
		<-clock
		samples.Wait() // no sample follows exited
	}
	ended := w.span("end the audit, look at /work")
	w.measure(ctx, &exit)
	err = errors.Join(err, w.audited(&exit), w.container.Destroy())
	ended()
	if err != nil {
		w.answer(err)
		return
	}
	exit.Executed, exit.Errno, exit.Ended, exit.Status = got.Executed, got.Errno, got.Ended, got.Status
	exit.FixedAddresses = w.fixed
	exit.CPU, exit.MemoryPeak = got.CPU, got.MemoryPeak
	select {
	case <-w.timedOut:
		exit.TimedOut = true
	default:
	}
	w.tell(protocol.Message{Type: protocol.MsgExited, Exit: &exit, Spans: w.trace.Take()})
}

// audited records the audit. An error means that it ended early, and the analysis was killed for it.
func (w *worker) audited(exit *protocol.Exit) (err error) {
	if w.audit == nil {
		return nil
	}
	exit.Audit, err = w.audit.Wait()
	if errors.Is(err, audit.ErrLost) {
		return fmt.Errorf("the analysis was killed: %w; run it again, or with --audit off", err)
	}
	if err != nil {
		exit.AuditError = err.Error()
	}
	return nil
}

// killNow is kill without an error: if the signal fails, the connection's end kills the namespace.
func (w *worker) killNow() { _ = w.kill() }

// tell sends an unsolicited message. A dead launcher ends this process through the connection.
func (w *worker) tell(m protocol.Message) { _ = w.conn.Send(m) }

// clock ends the run at its timeout. It waits for no one, not even an unresponsive launcher.
func (w *worker) clock() {
	deadline := time.NewTimer(w.job.Timeout)
	defer deadline.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-w.pause.changed:
		case <-deadline.C:
		}
		left := w.job.Timeout - w.pause.ran.Ran()
		if left <= 0 {
			close(w.timedOut)
			w.stop()
			return
		}
		deadline.Stop()
		if !w.pause.ran.Standing() {
			deadline.Reset(left)
		}
	}
}

// sample reports the run's use at the start and then once a second, except while suspended: a stopped launcher does not
// read.
func (w *worker) sample() {
	next := time.NewTicker(time.Second)
	defer next.Stop()
	for {
		if usage, err := procs.Usage(w.proc.Name()); err == nil && !w.pause.ran.Standing() {
			w.tell(protocol.Message{Type: protocol.MsgUsage, Usage: &usage})
		}
		select {
		case <-w.ended:
			return
		case <-next.C:
		}
	}
}

// stop ends the analysis gracefully, once.
func (w *worker) stop() { w.stopping.Do(func() { w.tasks.Go(w.terminate) }) }

func (w *worker) terminate() {
	grace, cancel := context.WithTimeout(context.Background(), w.job.Grace)
	defer cancel()
	select {
	case <-w.executed: // signals before our init listens would be lost
		_ = w.container.Signal(syscall.SIGTERM) // SIGKILL follows if it fails
		w.tasks.Go(w.pause.end)                 // which blocks if the launcher does not read
	case <-w.ended:
	case <-grace.Done():
	}
	select {
	case <-w.ended:
		return
	case <-grace.Done():
	}
	w.killNow()
}

// batchSize is the number of entries in one message: each at most some 20 KiB (two paths of 4,096 bytes, base64).
const batchSize = 256

func (w *worker) harvest(ctx context.Context, m protocol.Message) error {
	h, links := *m.Harvest, m.Harvest.Links
	if len(m.Files) == 2 { // of a run whose supervisor is dead
		defer protocol.Discard(m.Files)
		work, err := unix.Openat(int(m.Files[0].Fd()), h.Below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open the working directory: %w", err)
		}
		w.work, w.ingest = os.NewFile(uintptr(work), h.Below), m.Files[1]
		defer w.work.Close()
	} else {
		links = w.job.Links
	}
	var batch []outputs.Entry
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := w.conn.Send(protocol.Message{Type: protocol.MsgEntries, Entries: batch})
		batch = batch[:0]
		return err
	}
	harvested := w.span("harvest")
	totals, err := outputs.Harvest(ctx, w.work, outputs.Options{
		Bounds:  h.Bounds,
		Ingest:  w.ingest,
		Exclude: h.Exclude,
		Links:   links,
		Resumed: h.Resumed,
		Partial: h.Partial,
		Writing: w.writers,
		Link:    h.Link,
	}, func(e outputs.Entry) error {
		batch = append(batch, e)
		if len(batch) < batchSize {
			return nil
		}
		return flush()
	})
	err = errors.Join(err, flush())
	harvested()
	if err != nil {
		return err
	}
	return w.conn.Send(protocol.Message{Type: protocol.MsgHarvested, Totals: &totals, Spans: w.trace.Take()})
}

// own gives a directory and its contents to root, whatever modes the analysis set.
func own(ctx context.Context, dir, ingest *os.File) error {
	return errors.Join(outputs.Own(ctx, dir, 0, 0, ingest), dir.Chown(0, 0), dir.Chmod(0o700))
}

// clean empties a working directory or gives it to root: the caller, if an ordinary user; a root launcher then takes over
// the files.
func (w *worker) clean(ctx context.Context, m protocol.Message) error {
	defer protocol.Discard(m.Files)
	if len(m.Files) != 1 && len(m.Files) != 2 {
		return fmt.Errorf("clean came with %d descriptors", len(m.Files))
	}
	act := outputs.Empty
	var lost []outputs.Entry
	if m.Clean.Keep {
		ingest := append(m.Files, nil)[1]
		act = func(ctx context.Context, dir *os.File) error { return own(ctx, dir, ingest) }
		var err error
		if lost, err = w.keepOnDisk(ctx, m.Files[0]); err != nil {
			return err
		}
	}
	if err := w.trace.Do(trace.Supervisor, "clean", func() error { return act(ctx, m.Files[0]) }); err != nil {
		return fmt.Errorf("clean the working directory: %w", err)
	}
	return w.conn.Send(protocol.Message{Type: protocol.MsgCleaned, Entries: lost[:min(len(lost), batchSize)], Spans: w.trace.Take()})
}

// release starts the run's watchdog.
func (w *worker) release(ctx context.Context) *watchdog.Watchdog {
	c := watchdog.Config{
		Bound: w.job.Bound, Floor: w.job.Floor, Links: w.job.Links, Proc: w.proc.Name(), Path: "/work",
		Kill: w.kill,
		Kept: []watchdog.Kept{{Dir: w.ingest, Of: "the blob store"}},
	}
	if w.job.WorkTmpfs == nil {
		c.Work, c.Kept = w.work, append([]watchdog.Kept{{Dir: w.work, Of: "/work"}}, c.Kept...)
	}
	return watchdog.Start(ctx, c)
}

// countMost bounds the names counted in a /work over its bound.
const countMost = 1_000_000

// measure adds the watchdog's finding to the run's end, and the size of /work now that it no longer changes.
func (w *worker) measure(ctx context.Context, exit *protocol.Exit) {
	var f watchdog.Finding
	if w.watchdog != nil {
		f = w.watchdog.Stop()
	}
	exit.WorkFull, exit.HostFull = f.Full, f.Short
	most := outputs.Extent{Files: max(countMost, w.job.Bound.Files), Bytes: math.MaxInt64}
	last, _, err := outputs.NewRuler(w.work, w.job.Links, true).Measure(ctx, most, nil)
	exit.Work = f.Peak.Peak(last)
	full, unknown := w.noSpace()
	exit.NoSpace = full
	if err = errors.Join(f.Err, err, unknown); err != nil {
		exit.WatchError = err.Error()
		return
	}
	if w.job.WorkTmpfs == nil && exit.WorkFull == nil && last.Exceeds(w.job.Bound) {
		exit.WorkFull = &last
	}
}
