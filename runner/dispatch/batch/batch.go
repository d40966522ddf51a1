package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/stops"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Line is one request of a batch.
type Line struct {
	Number   int // from 1
	Analysis spec.Analysis
	Err      error // why it cannot be run
	Rerun    bool  // it is run as it is now, also if its id is complete or failed
	// Admit, where not nil, is called by the Work when all is ready for the analysis' first instruction. It returns when
	// that may start.
	Admit func(context.Context) error
	// Vacate, where not nil, is called by the Work when no process of the line's analysis is left: the next one may start
	// while this one's outputs are read and committed.
	Vacate func()
}

// Name is the id of a line, or its number where it has none.
func (l Line) Name() string {
	if l.Analysis.ID != "" {
		return l.Analysis.ID
	}
	return fmt.Sprintf("line %d", l.Number)
}

// Outcome is a line's outcome.
type Outcome struct {
	Result result.Result
	// Err is why the catalog does not have this result.
	Err error
	// Passed says that the result is from an earlier batch; nothing was run.
	Passed bool
	// Changed says of a line that passed that its request or script is not that of the result any more.
	Changed bool
}

// bad reports whether an outcome counts against MaxFailures: a new one that is not complete.
func (o Outcome) bad() bool { return !o.Passed && o.Result.State != outcome.Complete }

// Wall is how long the analysis took.
func (o Outcome) Wall() time.Duration { return time.Duration(o.Result.Usage.WallMS) * time.Millisecond }

// Work runs a line, and returns when it has ended. stop is as in request.Request. Do is called by several goroutines.
type Work interface {
	Do(ctx context.Context, line Line, stop <-chan request.StopSignal) Outcome
}

// Source returns one line after the other, then io.EOF. Next is called by one goroutine.
type Source interface {
	Next() (Line, error)
}

// Overlapping is the maximum number of lines in progress per job of a batch whose lines overlap: one is prepared, one runs
// and one is committed.
const Overlapping = 3

// Batch says how lines are run.
type Batch struct {
	Work Work
	Jobs int // at once; at least 1
	// Overlap starts the next line when an analysis has ended, while its outputs are committed; and if lines are short, as many
	// as Jobs are prepared while others run (admission).
	Overlap bool
	// Idle is how many analyses besides Jobs the machine has processors and memory for.
	Idle int
	// MaxFailures is how many lines may end other than complete before no more are started; 0 is no limit.
	MaxFailures int
	// Asked, where not nil, returns a number for each `scidex-oci stop` of this one run; each of them sends one signal.
	Asked func(id string) []int64
	// Abandon, where not nil, is called on the third signal for all: its sender no longer waits for runs that do not end, or
	// for results that are not read.
	Abandon func(request.StopSignal)
	// Draining, where not nil, is called once no more lines are started, though more may exist.
	Draining func()
	// Ended, where not nil, is called for each line that has ended, by the goroutine that ran it.
	Ended func(Line, Outcome)
}

// Summary is a batch's outcome.
type Summary struct {
	Complete, Failed, Canceled, Errors int    // lines by their end; lost runs are errors
	Passed                             int    // of these, those of an earlier batch
	Changed                            int    // of these, those whose request or script is another one now
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
func (s *Summary) Add(o Outcome) {
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
	if o.busy() {
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
	quit := make(chan struct{})
	defer close(quit)
	d := &dispatch{
		Batch: b, ended: make(chan ending), vacated: make(chan struct{}), quit: quit, running: map[int]*job{},
		slots: admission.New(b.admission()),
	}
	lines := feed(source, quit)
	for {
		if d.closed() && len(d.running) == 0 {
			return d.summary
		}
		next, slot := d.next(lines)
		select {
		case item := <-next:
			d.take(ctx, item, slot)
			continue
		case <-d.vacated:
		case e := <-d.ended:
			d.finish(e)
		case s := <-signals:
			d.heed(s)
		}
		slot.Release() // there may be another after that
	}
}

// admission is how many lines run at once. Their limits are no part of that: Jobs has been chosen by the largest.
func (b *Batch) admission() admission.Options {
	o := admission.Options{Runs: max(b.Jobs, 1), Idle: b.Idle}
	if b.Overlap {
		o.Overlap = o.Runs
	}
	return o
}

// item is a line or the end of all.
type item struct {
	line Line
	err  error
}

// feed reads ahead by one line. It ends with the lines, or once quit is closed and its read returns.
func feed(source Source, quit <-chan struct{}) <-chan item {
	items := make(chan item)
	go func() {
		for {
			line, err := source.Next()
			select {
			case items <- item{line, err}:
			case <-quit:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return items
}

// dispatch is one call of Run. Only Run's goroutine uses it.
type dispatch struct {
	*Batch
	summary  Summary
	read     bool // there are no more lines
	running  map[int]*job
	slots    *admission.Scheduler
	vacated  chan struct{} // a slot, maybe for the next line
	ended    chan ending
	quit     <-chan struct{}
	bad      int
	received int // signals for all
}

// job is a line that runs.
type job struct {
	*stops.Run
	line Line
}

type ending struct {
	job     *job
	slot    *admission.Slot // held until Ended returns: a slow reader of results slows the batch down
	outcome Outcome
}

// closed reports whether no more lines are started.
func (d *dispatch) closed() bool { return d.read || d.summary.Signal != nil || d.summary.Full }

// next are the lines, with a slot for the first of them; or nil if none may be started now.
func (d *dispatch) next(lines <-chan item) (<-chan item, *admission.Slot) {
	if d.closed() {
		return nil, nil
	}
	slot := d.slots.Start(admission.Resources{})
	if slot == nil {
		return nil, nil
	}
	return lines, slot
}

func (d *dispatch) take(ctx context.Context, next item, slot *admission.Slot) {
	if next.err != nil {
		slot.Release()
		d.read = true
		if !errors.Is(next.err, io.EOF) {
			d.summary.Err = next.err
		}
		return
	}
	j := &job{line: next.line, Run: stops.NewRun(next.line.Analysis.ID)}
	d.running[j.line.Number], d.summary.Last = j, j.line.Number
	if d.Overlap {
		j.line.Admit = slot.Wait
		j.line.Vacate = sync.OnceFunc(func() {
			slot.Vacate()
			select {
			case d.vacated <- struct{}{}:
			case <-d.quit:
			}
		})
	}
	go func() {
		outcome := d.Work.Do(ctx, j.line, j.Stop)
		if d.Overlap {
			slot.Vacate()
		}
		if d.Ended != nil {
			d.Ended(j.line, outcome)
		}
		d.ended <- ending{j, slot, outcome}
	}()
}

func (d *dispatch) finish(e ending) {
	delete(d.running, e.job.line.Number)
	e.slot.Release()
	d.summary.Add(e.outcome)
	d.slots.Took(e.outcome.Wall())
	if e.outcome.bad() {
		d.bad++
	}
	if d.MaxFailures > 0 && d.bad >= d.MaxFailures && !d.summary.Full {
		d.drain()
		d.summary.Full = true
	}
}

// drain reports, once, that no more lines are started.
func (d *dispatch) drain() {
	if !d.closed() && d.Draining != nil {
		d.Draining()
	}
}

// heed passes a signal on: to the runs that were stopped one by one, or else to all. `stop` sends the signal to this
// process, which a run shares with the others.
func (d *dispatch) heed(s request.StopSignal) {
	if d.Asked != nil && stops.Address(d.runs(), d.Asked, s) {
		return
	}
	if d.summary.Signal == nil {
		d.drain()
		d.summary.Signal = &s
	}
	if d.received++; d.received > 2 && d.Abandon != nil {
		d.Abandon(s)
	}
	for _, j := range d.running {
		j.Send(s)
	}
}

// runs are those that run.
func (d *dispatch) runs() []*stops.Run {
	var all []*stops.Run
	for _, j := range d.running {
		all = append(all, j.Run)
	}
	return all
}
