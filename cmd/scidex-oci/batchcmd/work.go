package batchcmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// work runs a line as run does.
type work struct {
	*session
}

// Do makes one attempt, and tells its end.
func (w work) Do(ctx context.Context, line batch.Line, stop <-chan runner.StopSignal) batch.Outcome {
	return w.told(w.attempt(ctx, line, stop))
}

// told tells an end in the events.
func (w work) told(o batch.Outcome) batch.Outcome {
	if w.events != nil {
		_ = w.events.Finish(o.Result) // why it fails is told at the end of the batch
	}
	return o
}

func (w work) attempt(ctx context.Context, line batch.Line, stop <-chan runner.StopSignal) batch.Outcome {
	if line.Err != nil {
		return w.refuse(line, &runner.RequestError{Err: line.Err})
	}
	suspender, left := w.suspended.Join()
	defer left()
	hook, done := w.hook(line)
	defer done()
	asked := runner.Request{
		Analysis: line.Analysis, AnyRoot: w.request.AnyRoot, Overwrite: w.request.Overwrite, NoAudit: w.request.NoAudit,
		Stop: stop, Suspender: suspender, Observe: w.observe(line), Hook: hook, Admit: w.admit(line),
	}
	result, err := w.start(ctx, asked)
	var refused *runner.RequestError
	if errors.As(err, &refused) {
		return w.refuse(line, w.placed(line, err))
	}
	return batch.Outcome{Result: result, Err: err}
}

// admit waits for the turn of a line's analysis, and shows it from then on.
func (w work) admit(line batch.Line) func(context.Context) error {
	return func(ctx context.Context) error {
		if line.Admit != nil {
			if err := line.Admit(ctx); err != nil {
				return err
			}
		}
		w.begin(line)
		return nil
	}
}

// begin shows that an analysis runs.
func (w work) begin(line batch.Line) {
	w.progress.Begin(line.Number, line.Analysis.ID, time.Duration(line.Analysis.WithDefaults().Timeout))
}

// observe shows what happens and passes it on. Once an analysis has ended the next may begin.
func (w work) observe(line batch.Line) func(event.Event) error {
	return func(e event.Event) error {
		if usage, ok := e.Data.(event.Usage); ok {
			w.progress.Use(line.Number, e.ID, usage)
		}
		if e.Type == event.TypeExited && line.Vacate != nil {
			line.Vacate()
		}
		if w.events == nil {
			return nil
		}
		return w.events.Put(e)
	}
}

// start runs a request with the supervisor that all share.
func (w work) start(ctx context.Context, asked runner.Request) (result.Result, error) {
	var err error
	if asked.Begun, err = w.crew.Begin(asked.Analysis.Limits); err != nil {
		return runner.Refused(asked.Analysis, err, w.program.Build.Version), err
	}
	return w.stores.Runner.Run(ctx, asked)
}

// hook is what is called with the result of a line, nil for nothing; what it writes goes to standard error until done.
func (w work) hook(line batch.Line) (hook *runner.Hook, done func()) {
	if w.request.Hook == nil {
		return nil, func() {}
	}
	output := screen.NewStream(w.program.Stderr, w.screen)
	own := *w.request.Hook
	own.Output = output
	return &own, func() {
		if err := output.Close(); err != nil {
			w.say(fmt.Sprintf("%s: not all that the post-process command wrote could be passed on: %v", line.Analysis.ID, err))
		}
	}
}

// placed says in which line a request was refused; any other error stays what it is.
func (w work) placed(line batch.Line, err error) error {
	var refused *runner.RequestError
	if !errors.As(err, &refused) {
		return err
	}
	reason := refused.Err
	var used *runner.UsedError
	if errors.As(err, &used) { // a batch has no --again
		reason = fmt.Errorf("id %s was used before and is %s; choose another id, or pass over what is done with --resume", used.ID, used.State)
	}
	return &runner.RequestError{Err: w.lines.At(line.Number, reason)}
}

// refuse is the outcome of a line that did not become a run.
func (w work) refuse(line batch.Line, err error) batch.Outcome {
	return batch.Outcome{Result: runner.Refused(line.Analysis, err, w.program.Build.Version), Err: err}
}
