package runner

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/digest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/protocol"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// supervise opens the gate, passes streams and the user's stop requests on, and waits for the end.
func (e *execution) supervise(ctx context.Context, created *sandbox.Created) error {
	ended, drained, cut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e.observer.begun = make(chan struct{})
	started := sync.OnceFunc(func() { close(e.observer.begun) })
	var streams sync.WaitGroup
	limit := int64(e.plan.Analysis.LogSize)
	e.sinks = [2]*logSink{{ingest: e.ingest, limit: limit, name: workspace.LogNames[0]}, {ingest: e.ingest, limit: limit, name: workspace.LogNames[1]}}
	for i, stream := range []struct {
		from io.Reader
		to   io.Writer
		name string
	}{{created.Stdout, e.request.Stdout, "stdout"}, {created.Stderr, e.request.Stderr, "stderr"}} {
		streams.Go(func() {
			told := e.observed(stream.name)
			e.tell(drain(stream.from, io.MultiWriter(e.sinks[i], told), stream.to, cut))
			told.End()
		})
	}
	err := e.suspender.Start(e.supervisor)
	// A stop that comes before the gate is open would kill the container's init and read as an error.
	var heard sync.WaitGroup
	heard.Go(func() { e.heed(ended) })
	hit := func() { heard.Go(func() { e.killGroup() }) }
	heard.Go(func() { e.listen(ended, drained, sync.OnceFunc(func() { close(cut) })) })
	if err == nil {
		e.exit, err = e.supervisor.Wait(sandbox.Watch{
			Started: func(at time.Time) { e.started(ctx, at); started() }, Usage: e.progress, Suspended: e.suspended, Resumed: e.resumed,
			Killed: hit,
		})
	}
	started()
	e.suspender.End()
	close(ended)
	if err == nil {
		streams.Wait() // every writer is dead: both streams end
	}
	close(drained)
	heard.Wait()
	e.observer.silence()
	return err
}

// heed kills an analysis whose root filesystem is found damaged.
func (e *execution) heed(ended <-chan struct{}) {
	select {
	case <-e.plan.Base.Alarm():
		e.kill()
	case <-ended:
	}
}

// kill ends the analysis at once.
func (e *execution) kill() {
	e.tell(e.supervisor.Kill())
	e.killGroup()
}

// killGroup kills every process of the control group, if any, without scheduling any of them.
func (e *execution) killGroup() {
	if e.group != nil {
		e.tell(e.group.Empty(emptyWait))
	}
}

// listen passes the user's stop requests on: the first terminates, the second kills the analysis. Once it has ended, or with
// the second, it waits no more for unread output.
func (e *execution) listen(ended, drained <-chan struct{}, cut func()) {
	for {
		select {
		case <-drained:
			return
		case signal := <-e.request.Stop:
			select {
			case <-ended:
				cut()
				continue
			default:
			}
			signal = e.tenure.Attribute(signal)
			e.mu.Lock()
			first := e.stopped == nil
			if first {
				e.stopped, e.stoppedAt = &signal, time.Now()
			}
			e.insisted = !first || signal.Now
			e.mu.Unlock()
			if first && !signal.Now {
				e.tell(e.supervisor.Stop())
			} else {
				cut()
				e.kill()
			}
		}
	}
}

func (e *execution) started(ctx context.Context, at time.Time) {
	e.run.StartedAt = at.UTC()
	e.notePlace(ctx)
	e.clock.Start(at)
	e.prints = digest.Start(ctx, e.Host, e.plan)
	if e.request.Observe != nil {
		e.observe(event.TypeStarted, e.result(judge.Outcome{State: catalog.Running}))
	}
}

// notePlace records the directory's inode in the row, so that gc may remove it where the state file is damaged. Only the
// commit waits for it.
func (e *execution) notePlace(ctx context.Context) {
	place, err := json.Marshal(e.place)
	if err != nil {
		e.tell(err)
		return
	}
	run := catalog.Run{Key: e.run.Key, State: catalog.Running, Place: place}
	e.noted.Go(func() {
		defer e.trace.Span(trace.Catalog, "note the place in the row")()
		e.tell(e.Catalog.Update(ctx, run))
	})
}

// suspended informs the user before the launcher itself stops.
func (e *execution) suspended(failure error) {
	e.tell(failure)
	e.clock.Pause()
	last := e.last
	last.Suspended = true
	e.observe(event.TypeUsage, last)
	e.suspender.Answered()
}

func (e *execution) resumed() {
	e.clock.Resume()
	e.observe(event.TypeUsage, e.last)
	e.suspender.Answered()
}

// progress records a sample and passes it on, except the one of the start.
func (e *execution) progress(u protocol.Usage) {
	s := sample{at: e.clock.Ran(), memory: u.Memory, pids: u.Processes, cpu: u.CPU}
	if e.group != nil {
		if usage, err := e.group.Usage(); err == nil {
			s = groupSample(s.at, usage)
		}
	}
	first := len(e.recorder.series.TMS) == 0
	e.recorder.add(s)
	e.last = event.Usage{
		Attempt: e.run.Attempt, ElapsedMS: s.at.Milliseconds(),
		CPUMS: s.cpu.Milliseconds(), MemoryBytes: s.memory, Processes: s.pids,
	}
	if !first {
		e.observe(event.TypeUsage, e.last)
	}
}

// groupSample is the control group's sample, which counts more than the supervisor's sums.
func groupSample(at time.Duration, u cgroup.Usage) sample {
	return sample{at: at, memory: u.Memory, memoryPeak: u.MemoryPeak, pids: u.Pids, pidsPeak: u.PidsPeak, cpu: u.CPU}
}
