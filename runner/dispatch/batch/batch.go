package batch

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// Source returns one line after the other, then io.EOF. Next is called again when it has returned.
type Source interface {
	Next() (dispatch.Line, error)
}

// Batch says how lines are run.
type Batch struct {
	Work dispatch.Work
	Jobs int // at once; at least 1
	// Overlap starts the next line when an analysis has ended, while its outputs are committed; and if lines are short, as many
	// as Jobs are prepared while others run (admission).
	Overlap bool
	// Idle is how many analyses besides Jobs the machine has processors and memory for.
	Idle int
	// MaxFailures is how many lines may end other than complete before no more are started; 0 is no limit.
	MaxFailures int
	// Asked, if not nil, returns a number for each `scidex-oci stop` of this one run; each of them sends one signal.
	Asked func(id string) []int64
	// Abandon, if not nil, is called on the third signal for all: its sender no longer waits for runs that do not end, or
	// for results that are not read.
	Abandon func(request.StopSignal)
	// Draining, if not nil, is called once no more lines are started, though more may exist.
	Draining func()
	// Ended, if not nil, is called for each line that has ended, by the goroutine that ran it.
	Ended func(dispatch.Line, dispatch.LineResult)
}

// Summary is a batch's outcome.
type Summary struct {
	Complete, Failed, Canceled, Errors int    // lines by their end; lost runs are errors
	Passed                             int    // of these, those of an earlier batch
	Changed                            int    // lines whose request or script is not the recorded one any more
	Taken                              int    // of the errors, those whose id another run has
	Busy                               int    // of these, those that run now
	TakenID                            string // the first of these ids
	Last                               int    // number of the last line that was started; all before it were
	// Signal is the first one that stopped the batch.
	Signal *request.StopSignal
	// Full says that MaxFailures was reached, and lines may not have been started.
	Full bool
	// Err is why not all lines could be read.
	Err error
}

// Done is how many lines have ended.
func (s Summary) Done() int { return s.Complete + s.Failed + s.Canceled + s.Errors }

// Add counts an outcome.
func (s *Summary) Add(o dispatch.LineResult) {
	if o.Passed {
		s.Passed++
	}
	if o.Changed {
		s.Changed++
	}
	if o.Taken() {
		s.Taken++
		s.TakenID = cmp.Or(s.TakenID, o.Result.ID)
	}
	if o.Busy() {
		s.Busy++
	}
	switch o.Result.State {
	case outcome.Complete:
		s.Complete++
	case outcome.Failed:
		s.Failed++
	case outcome.Canceled:
		s.Canceled++
	default:
		s.Errors++
	}
}

// Run runs the lines of a source. The first of signals goes to the running lines, as their own stop, and no more lines are
// started; each further one goes to those that still run. Run returns when nothing runs any more; a pending read of source
// is left behind.
func (b *Batch) Run(ctx context.Context, source Source, signals <-chan request.StopSignal) Summary {
	freed := make(chan struct{}, 1)
	l := &loop{Batch: b, ended: make(chan dispatch.LineResult)}
	l.executor = dispatch.NewExecutor(b.admission(), func() {
		select {
		case freed <- struct{}{}:
		default: // it is known already
		}
	})
	defer l.executor.Wait()
	next := read(source)
	for !l.closed() || l.running > 0 {
		select {
		case item := <-next:
			l.take(item)
		case <-freed:
		case o := <-l.ended:
			l.finish(o)
		case s := <-signals:
			l.stop(s)
		}
		if l.start(ctx) {
			next = read(source)
		}
	}
	return l.summary
}

// admission is how many lines run at once. There is no bound for their limits together: Jobs has been chosen by the largest.
func (b *Batch) admission() admission.Options {
	o := admission.Options{Runs: max(b.Jobs, 1), Idle: b.Idle}
	if b.Overlap {
		o.Overlap = o.Runs
	}
	return o
}

// item is a line or the end of all.
type item struct {
	line dispatch.Line
	err  error
}

// read reads a line. Nobody need wait for it.
func read(source Source) <-chan item {
	next := make(chan item, 1)
	go func() {
		line, err := source.Next()
		next <- item{line, err}
	}()
	return next
}

// loop is one call of Run. Only Run's goroutine uses it.
type loop struct {
	*Batch
	summary  Summary
	read     bool           // there are no more lines
	next     *dispatch.Line // waits for a slot; nil: it is still to be read
	executor *dispatch.Executor
	running  int
	ended    chan dispatch.LineResult
	bad      int
	received int // signals for all
}

// closed reports whether no more lines are started.
func (l *loop) closed() bool { return l.read || l.summary.Signal != nil || l.summary.Full }

func (l *loop) take(next item) {
	if next.err == nil {
		l.next = &next.line
		return
	}
	if !errors.Is(next.err, io.EOF) {
		l.drain()
		l.summary.Err = next.err
	}
	l.read = true
}

// start starts the next line, if it may be started and has a slot.
func (l *loop) start(ctx context.Context) bool {
	if l.next == nil || l.closed() {
		return false
	}
	run := l.executor.Start(*l.next, func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
		return l.do(ctx, line, stop)
	}, nil)
	if run == nil {
		return false
	}
	l.running++
	l.summary.Last, l.next = l.next.Number, nil
	return true
}

// do runs a line, in a goroutine of its own. It holds the slot until Ended returns, so that a slow reader of results slows the batch down,
// and until the outcome is counted, which may be the last that is allowed.
func (l *loop) do(ctx context.Context, line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
	outcome := l.Work.Do(ctx, line, stop)
	if line.Vacate != nil {
		line.Vacate()
	}
	if l.Ended != nil {
		l.Ended(line, outcome)
	}
	l.ended <- outcome
	return outcome
}

// finish counts an outcome.
func (l *loop) finish(o dispatch.LineResult) {
	l.running--
	l.summary.Add(o)
	if !o.Passed && o.Result.State != outcome.Complete {
		l.bad++
	}
	if l.MaxFailures > 0 && l.bad >= l.MaxFailures && !l.summary.Full {
		l.drain()
		l.summary.Full = true
	}
}

// drain reports, once, that no more lines are started.
func (l *loop) drain() {
	if !l.closed() && l.Draining != nil {
		l.Draining()
	}
}

// stop passes a signal on: to the runs that were stopped one by one, or else to all. `stop` sends the signal to this
// process, which a run shares with the others.
func (l *loop) stop(s request.StopSignal) {
	if l.Asked != nil && l.executor.Address(l.Asked, s) {
		return
	}
	if l.summary.Signal == nil {
		l.drain()
		l.summary.Signal = &s
	}
	if l.received++; l.received > 2 && l.Abandon != nil {
		l.Abandon(s)
	}
	l.executor.Stop(s)
}
