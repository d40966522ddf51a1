package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Line is one request of a batch.
type Line struct {
	Number   int // from 1
	Analysis spec.Analysis
	Err      error // why it cannot be run
	// Admit, where not nil, is for the Work to call once all is ready but for the analysis' first instruction, and returns
	// when that may begin.
	Admit func(context.Context) error
	// Vacate, where not nil, is for the Work to call once nothing of the line's analysis runs any more: the next one may
	// begin, while this one's outputs are read and committed.
	Vacate func()
}

// Name is the id of a line, or its number where it has none.
func (l Line) Name() string {
	if l.Analysis.ID != "" {
		return l.Analysis.ID
	}
	return fmt.Sprintf("line %d", l.Number)
}

// Outcome is what came of a line.
type Outcome struct {
	Result result.Result
	// Err is why the result is not in the catalog as it says.
	Err error
	// Passed says that the result is of an earlier batch, and nothing was run.
	Passed bool
}

// bad reports whether an outcome counts against MaxFailures: a new one that is not complete.
func (o Outcome) bad() bool { return !o.Passed && o.Result.State != catalog.Complete }

// Work does what a line asks for, and returns when that has ended. stop is as that of a request.Request. Do is called by
// several goroutines.
type Work interface {
	Do(ctx context.Context, line Line, stop <-chan request.StopSignal) Outcome
}

// Source gives one line after the other, and io.EOF after the last. Next is called by one goroutine.
type Source interface {
	Next() (Line, error)
}

// Overlapping is how many lines are on their way at most for each job of a batch whose lines overlap: one is made ready,
// one runs and one is committed.
const Overlapping = 3

// Batch says how lines are run.
type Batch struct {
	Work Work
	Jobs int // at once; at least 1
	// Overlap says that a line whose analysis has ended gives its place to the next. As many as Jobs may be on their
	// way from there to their end; and as many are made ready while others run, where those are short (ahead.go).
	Overlap bool
	// MaxFailures is how many lines may end otherwise than complete before no other is started; 0: any number.
	MaxFailures int
	// Asked, where not nil, returns who wants this one run to end (`scidex-oci stop`): a number for each time that
	// somebody asks, who then sends one signal.
	Asked func(id string) []int64
	// Abandon, where not nil, is called with the third signal that is for all: whoever sends it waits no more for runs
	// that do not end, or for a result that nobody reads.
	Abandon func(request.StopSignal)
	// Draining, where not nil, is called once no other line is started though there may be more.
	Draining func()
	// Ended, where not nil, is called for each line that has ended, by the goroutine that ran it.
	Ended func(Line, Outcome)
}

// Summary is what came of a batch.
type Summary struct {
	Complete, Failed, Canceled, Errors int // lines by their end; lost runs are errors
	Passed                             int // of these, those of an earlier batch
	Last                               int // number of the last line that was started; none before it was not
	// Signal is the first that asked the batch to end.
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
	switch o.Result.State {
	case catalog.Complete:
		s.Complete++
	case catalog.Failed:
		s.Failed++
	case catalog.Canceled:
		s.Canceled++
	default:
		s.Errors++
	}
}

// Run runs the lines of a source. The first of signals ends those that run as their own stop does and starts no other,
// and so does each further one to those that still run. It returns when nothing runs any more; a line that source still
// waits for is left to it.
func (b *Batch) Run(ctx context.Context, source Source, signals <-chan request.StopSignal) Summary {
	quit := make(chan struct{})
	defer close(quit)
	d := &dispatch{
		Batch: b, ended: make(chan ending), vacated: make(chan *job), quit: quit, running: map[int]*job{},
		turns: turns{jobs: max(b.Jobs, 1)},
	}
	lines := feed(source, quit)
	for {
		next := lines
		if d.closed() || d.full() {
			next = nil
		}
		if d.closed() && len(d.running) == 0 {
			return d.summary
		}
		select {
		case item := <-next:
			d.take(ctx, item)
		case j := <-d.vacated:
			j.vacant = true
			d.vacant++
		case e := <-d.ended:
			d.finish(e)
		case s := <-signals:
			d.heed(s)
		}
	}
}

// item is a line or the end of all.
type item struct {
	line Line
	err  error
}

// feed reads ahead by one line. It ends with the lines, or once quit is closed and its read is answered.
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

// dispatch is one Run. Only the goroutine of Run touches it.
type dispatch struct {
	*Batch
	summary Summary
	read    bool // there are no more lines
	running map[int]*job
	vacant  int // of them, those that have given their place to others
	turns   turns
	short   streak
	vacated chan *job
	ended   chan ending
	quit    <-chan struct{}
	bad     int
	heard   int // signals for all
}

// job is a line that runs.
type job struct {
	line Line
	stop chan request.StopSignal
	// heard are those who have asked for this very run to end, and ahead how many of them were heard before their
	// signal.
	heard  []int64
	ahead  int
	vacant bool
}

type ending struct {
	job     *job
	outcome Outcome
}

// closed reports whether no line is started any more.
func (d *dispatch) closed() bool { return d.read || d.summary.Signal != nil || d.summary.Full }

// full reports whether a line has to wait for others.
func (d *dispatch) full() bool {
	jobs := d.turns.jobs
	ready := 0
	if d.Overlap && d.short.lasts() {
		ready = jobs
	}
	return len(d.running)-d.vacant >= jobs+ready || len(d.running) >= 2*jobs+ready
}

func (d *dispatch) take(ctx context.Context, next item) {
	if next.err != nil {
		d.read = true
		if !errors.Is(next.err, io.EOF) {
			d.summary.Err = next.err
		}
		return
	}
	j := &job{line: next.line, stop: make(chan request.StopSignal, 2)}
	d.running[j.line.Number], d.summary.Last = j, j.line.Number
	turn := d.turns.next()
	if d.Overlap {
		j.line.Admit = turn.wait
		j.line.Vacate = sync.OnceFunc(func() {
			turn.end()
			select {
			case d.vacated <- j:
			case <-d.quit:
			}
		})
	}
	go func() {
		outcome := d.Work.Do(ctx, j.line, j.stop)
		turn.end()
		if d.Ended != nil {
			d.Ended(j.line, outcome)
		}
		d.ended <- ending{j, outcome}
	}()
}

func (d *dispatch) finish(e ending) {
	delete(d.running, e.job.line.Number)
	if e.job.vacant {
		d.vacant--
	}
	d.summary.Add(e.outcome)
	d.short.add(e.outcome)
	if e.outcome.bad() {
		d.bad++
	}
	if d.MaxFailures > 0 && d.bad >= d.MaxFailures && !d.summary.Full {
		d.drain()
		d.summary.Full = true
	}
}

// drain tells that no other line is started, the first time.
func (d *dispatch) drain() {
	if !d.closed() && d.Draining != nil {
		d.Draining()
	}
}

// heed passes a signal on: to the runs that somebody wants to end one by one, or else to all. `stop` sends the signal to
// this process, which a run shares with the others.
func (d *dispatch) heed(s request.StopSignal) {
	if d.Asked != nil && s.Name == "SIGTERM" && d.address(s) {
		return
	}
	if d.summary.Signal == nil {
		d.drain()
		d.summary.Signal = &s
	}
	if d.heard++; d.heard > 2 && d.Abandon != nil {
		d.Abandon(s)
	}
	for _, j := range d.running {
		send(j.stop, s)
	}
}

// address passes a signal on to the runs that are asked to end by somebody who was not heard before, and reports whether
// it is for them. Where several are, the signals of the others are still to come, and are theirs. Any other signal is
// for the batch, also while a run that was asked goes on.
func (d *dispatch) address(s request.StopSignal) bool {
	first := true
	for _, j := range d.running {
		for _, who := range d.Asked(j.line.Analysis.ID) {
			if slices.Contains(j.heard, who) {
				continue
			}
			j.heard = append(j.heard, who)
			send(j.stop, s)
			if !first {
				j.ahead++
			}
			first = false
		}
	}
	return !first || d.answered()
}

// answered reports whether a signal is of somebody who was heard before it came.
func (d *dispatch) answered() bool {
	for _, j := range d.running {
		if j.ahead > 0 {
			j.ahead--
			return true
		}
	}
	return false
}

// send drops what is more than a run acts on.
func send(stop chan<- request.StopSignal, s request.StopSignal) {
	select {
	case stop <- s:
	default:
	}
}
