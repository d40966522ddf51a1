package execute

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/execute/meter"
	"github.com/scidex-ai/scidex-oci/runner/execute/streams"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// supervise opens the gate, passes streams and the user's stop requests on, and waits for the end.
func (e *execution) supervise(ctx context.Context, created *sandbox.Created) error {
	ended, drained, cut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var streaming, listening sync.WaitGroup
	e.stream(&streaming, created, cut)
	fed := feed(e.stdin, e.Space, ended)
	err := e.Suspender.StartRun(e.Space.Supervisor)
	// A stop that comes before the gate is open would kill the container's init and read as an error.
	listening.Go(func() { killIfDamaged(e.Plan.Base.Alarm(), e.Space, ended) })
	listening.Go(func() { e.stops.listen(e.Request.Stop, e.Space, ended, drained, sync.OnceFunc(func() { close(cut) })) })
	if err == nil {
		e.exit, err = e.Space.Supervisor.Wait(sandbox.Watch{
			Landlock: e.report.landlock,
			Started:  func(at time.Time) { e.start(ctx, at) }, Usage: e.progress, Suspended: e.suspended, Resumed: e.resumed,
			Killed: func() { listening.Go(func() { e.Space.Warn(e.Space.Limits.Empty()) }) },
		})
	}
	e.Observer.Open()
	e.Suspender.RunEnded()
	close(ended)
	if !e.exit.Finished.IsZero() {
		e.exit.Date(e.started, e.Space.Date(time.Now()))
	}
	failed := <-fed
	if err == nil {
		streaming.Wait() // every writer is dead: both streams end
		err = endStdin(e.stdin, e.Space, failed)
	}
	close(drained)
	listening.Wait()
	e.Observer.Silence()
	return err
}

// stream starts to keep and to pass on the analysis' streams.
func (e *execution) stream(streaming *sync.WaitGroup, created *sandbox.Created, cut <-chan struct{}) {
	limit := int64(e.Plan.Analysis.LogSize)
	for i, stream := range []struct {
		from io.Reader
		to   io.Writer
		name string
		end  io.Writer
	}{{created.Stdout, e.Request.Stdout, "stdout", io.Discard}, {created.Stderr, e.Request.Stderr, "stderr", e.stderr}} {
		log := streams.NewLog(e.Space.Ingest, limit, workspace.LogNames[i])
		e.logs[i] = log
		streaming.Go(func() {
			events := e.Observer.Stream(stream.name, limit)
			e.Space.Warn(streams.Drain(stream.from, io.MultiWriter(log, events, stream.end), stream.to, cut))
			events.End()
		})
	}
}

// start notes that the analysis has started.
func (e *execution) start(ctx context.Context, at time.Time) {
	e.started = e.Space.Date(at)
	e.Space.NoteStart(ctx, e.started)
	e.meter.Start(at)
	e.Digests.Start(ctx)
	e.Space.Warn(e.Observer.Started(e.started, e.report.Report))
}

// suspended informs the user before the launcher itself stops.
func (e *execution) suspended(failure error) {
	e.Space.Warn(failure)
	e.Observer.Usage(e.meter.Pause())
	e.Suspender.Answered()
}

func (e *execution) resumed() {
	e.Observer.Usage(e.meter.Resume())
	e.Suspender.Answered()
}

// progress records a sample and passes it on, except the one of the start.
func (e *execution) progress(u sandbox.Usage) {
	s := meter.Sample{At: e.meter.Ran(), Memory: u.Memory, Pids: u.Processes, CPU: u.CPU}
	if e.Space.Limits.Own() {
		if counted, err := e.groupSample(s.At); err == nil {
			s = counted
		}
	}
	if usage, first := e.meter.Add(s); !first {
		e.Observer.Usage(usage)
	}
}
