package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
)

const (
	// mostWait bounds how long a call waits for a run, in seconds; usualWait is that of wait_run.
	mostWait  = 3600
	usualWait = 60
	// mostWaits bounds the calls that wait for runs of other processes: each keeps a thread.
	mostWaits = 64
)

// run is a run of this server until nothing of it is left here but its record.
type run struct {
	*engine.Job
	feed feed
	gone chan struct{} // closed then
}

// runCode runs an analysis and answers when it has ended, or wait is over. A canceled call cancels its run, and so does the end of its client.
func (t *tools) runCode(ctx context.Context, r *mcp.CallToolRequest, in runInput) (*mcp.CallToolResult, runOutput, error) {
	over, stop, err := after(in.Wait)
	if err != nil {
		return nil, runOutput{}, err
	}
	defer stop()
	run := &run{gone: make(chan struct{})}
	defer run.feed.passOn(ctx, r)()
	if err := t.begin(ctx, r, in, run); err != nil {
		return nil, runOutput{}, err
	}
	select {
	case <-run.gone:
	case <-over:
	case <-ctx.Done():
		run.Cancel()
		<-run.gone
	}
	select {
	case <-run.gone:
		ended, err := run.Result()
		if err != nil {
			return nil, runOutput{}, t.refused(err)
		}
		return t.answer(ctx, ended)
	default:
		return t.current(ctx, run.ID())
	}
}

// waitInput names a run to wait for.
type waitInput struct {
	Run  string   `json:"run" jsonschema:"ID, ID@ATTEMPT or @last"`
	Wait *float64 `json:"wait,omitempty" jsonschema:"seconds, at most 3600 (default 60)"`
}

// waitRun answers when a run has ended, or while it goes on: when wait is over or this server ends.
func (t *tools) waitRun(ctx context.Context, r *mcp.CallToolRequest, in waitInput) (*mcp.CallToolResult, runOutput, error) {
	if in.Wait == nil {
		in.Wait = new(float64)
		*in.Wait = usualWait
	}
	over, stop, err := after(in.Wait)
	if err != nil {
		return nil, runOutput{}, err
	}
	defer stop()
	name := in.Run
	if name == "@last" { // later that may be another run
		last, err := t.find(ctx, name)
		if err != nil {
			return nil, runOutput{}, err
		}
		name = last.ID
	}
	if own, ok := t.runs.Load(name); ok {
		defer own.(*run).feed.passOn(ctx, r)()
	}
	leave := func() {}
	if _, own := t.Engine.Job(name); !own {
		select {
		case t.waits <- struct{}{}:
			leave = func() { <-t.waits }
		default:
			return nil, runOutput{}, fmt.Errorf("%d calls wait for runs that this server has not started; ask again when one of them is answered", mostWaits)
		}
	}
	waits, cancel := t.open.enter(ctx, r.Session)
	defer cancel()
	var as result.Result
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer leave()
		as, err = t.Engine.Wait(waits, name)
	}()
	select {
	case <-ended:
		if err != nil {
			return nil, runOutput{}, t.refused(err)
		}
		return t.answer(ctx, as)
	case <-over:
	case <-t.drained:
	}
	return t.current(ctx, name)
}

// after is a channel that says when so many seconds are over; nil: never.
func after(seconds *float64) (over <-chan time.Time, stop func(), err error) {
	if seconds == nil {
		return nil, func() {}, nil
	}
	if *seconds < 0 || *seconds > mostWait {
		return nil, nil, fmt.Errorf("wait %g: give a number of seconds from 0 to %d", *seconds, mostWait)
	}
	timer := time.NewTimer(time.Duration(*seconds * float64(time.Second)))
	return timer.C, func() { timer.Stop() }, nil
}

// current is the short answer about a run as it is now.
func (t *tools) current(ctx context.Context, name string) (*mcp.CallToolResult, runOutput, error) {
	r, err := t.Engine.Show(ctx, name)
	if err != nil {
		return nil, runOutput{}, t.refused(err)
	}
	return t.answer(ctx, r)
}

// begin begins the run of a call. It is canceled at the end of the session.
func (t *tools) begin(ctx context.Context, r *mcp.CallToolRequest, in runInput, run *run) error {
	leave, err := t.enter()
	if err != nil {
		return err
	}
	a, remove, err := t.analysis(ctx, in)
	if err != nil {
		leave()
		return err
	}
	done := func() {
		remove()
		leave()
		close(run.gone)
	}
	caller := t.Engine.NewCaller()
	if run.Job, err = caller.Submit(a, &run.feed, false); err != nil {
		caller.Close()
		done()
		if errors.Is(err, engine.ErrDraining) {
			err = errors.New("this server ends and takes no new runs")
		}
		return err
	}
	t.runs.Store(a.ID, run)
	over, left := t.open.enter(context.WithoutCancel(ctx), r.Session)
	go func() {
		defer done()
		defer t.runs.Delete(a.ID)
		defer caller.Close()
		defer left()
		select {
		case <-run.Done():
		case <-over.Done():
			run.Cancel()
			<-run.Done()
		}
	}()
	return nil
}
