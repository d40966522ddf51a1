package dispatch

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// Runs is a Work that makes a run of each line. All share one supervisor.
type Runs struct {
	Host   *phase.Host
	Pool   *warm.Pool
	Outage *Outage
	request.Switches
	Caller request.Caller
	// Hook, if not nil, makes the post-process command of a line, and what to call after it.
	Hook      func(Line) (hook *request.Hook, done func())
	Suspended *SuspendGroup
	// At adds a line's location to the error that refuses it, and may say the error in the caller's own words.
	At func(number int, err error) error
	// Started, if not nil, is called when the analysis of a line may start, and Used with what it uses.
	Started func(Line)
	Used    func(line Line, id string, usage event.Usage)
	// Events, if not nil, takes the events of all runs.
	Events Events
}

// Events takes the events of runs.
type Events interface {
	Put(event.Event) error
	Finish(result.Result) error
}

// Do makes one attempt of a line.
func (r *Runs) Do(ctx context.Context, line Line, stop <-chan request.StopSignal) LineResult {
	return r.finish(r.attempt(ctx, line, stop))
}

// finish adds an outcome to the events.
func (r *Runs) finish(o LineResult) LineResult {
	if r.Events != nil {
		_ = r.Events.Finish(o.Result) // the owner of the events reports their errors
	}
	return o
}

func (r *Runs) attempt(ctx context.Context, line Line, stop <-chan request.StopSignal) LineResult {
	if line.Err != nil {
		return r.refuse(line, &request.Error{Err: line.Err})
	}
	suspender, leave := r.Suspended.Join()
	defer leave()
	hook, done := r.hook(line)
	defer done()
	req := request.Request{
		Analysis: line.Analysis, Rerun: line.Rerun, Switches: r.Switches,
		Caller: r.Caller, Stop: stop, Suspender: suspender, Observe: r.observe(line), Hook: hook, Admit: r.admit(line),
	}
	var res result.Result
	err := r.Outage.Do(ctx, stop, func() (err error) {
		res, err = r.run(ctx, req)
		return err
	})
	var stopped *request.StoppedError
	if errors.As(err, &stopped) && res.State != outcome.Canceled { // while the catalog was not reached
		return r.refuse(line, err)
	}
	var refused *request.Error
	if errors.As(err, &refused) {
		return r.refuse(line, r.at(line, err))
	}
	return LineResult{Result: res, Err: err}
}

func (r *Runs) hook(line Line) (hook *request.Hook, done func()) {
	if r.Hook == nil {
		return nil, func() {}
	}
	return r.Hook(line)
}

// admit waits for the slot of a line.
func (r *Runs) admit(line Line) func(context.Context) error {
	return func(ctx context.Context) error {
		if line.Admit != nil {
			if err := line.Admit(ctx); err != nil {
				return err
			}
		}
		r.started(line)
		return nil
	}
}

func (r *Runs) started(line Line) {
	if r.Started != nil {
		r.Started(line)
	}
}

// observe passes events on. Once an analysis has exited the next may start.
func (r *Runs) observe(line Line) func(event.Event) error {
	return func(e event.Event) error {
		if usage, ok := e.Data.(event.Usage); ok && r.Used != nil {
			r.Used(line, e.ID, usage)
		}
		if e.Type == event.TypeExited && line.Vacate != nil {
			line.Vacate()
		}
		if r.Events == nil {
			return nil
		}
		return r.Events.Put(e)
	}
}

// run runs a request under the shared supervisor.
func (r *Runs) run(ctx context.Context, req request.Request) (result.Result, error) {
	return runner.New(r.Host, r.Pool.Begin).Run(ctx, req)
}

// at adds the location of a line to the error that refuses it. Other errors are unchanged.
func (r *Runs) at(line Line, err error) error {
	var refused *request.Error
	if !errors.As(err, &refused) {
		return err
	}
	return &request.Error{Err: r.At(line.Number, refused.Err)}
}

// Refuse is the result of a line that cannot be run.
func (r *Runs) Refuse(line Line, err error) LineResult {
	return r.finish(r.refuse(line, r.at(line, err)))
}

// PostProcess calls only the post-process command of a committed run of a line. It returns false if there is no such command.
func (r *Runs) PostProcess(ctx context.Context, line Line, last result.Result, stop <-chan request.StopSignal) (LineResult, bool) {
	if r.Hook == nil {
		return LineResult{}, false
	}
	r.started(line)
	hook, done := r.hook(line)
	defer done()
	res, err := deliver.PostProcess(ctx, r.Host, catalog.Key{ID: last.ID, Attempt: last.Attempt}, *hook, false, stop)
	if res.ID == "" {
		return r.finish(r.refuse(line, err)), true
	}
	return r.finish(LineResult{Result: res, Err: err}), true
}

// refuse is the result of a line that did not become a run.
func (r *Runs) refuse(line Line, err error) LineResult {
	return LineResult{Result: runner.Refused(line.Analysis, err, r.Host.Version), Err: err}
}
