package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// workFunc makes a function a Work.
type workFunc func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult

func (f workFunc) Do(_ context.Context, line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
	return f(line, stop)
}

// few is a source of so many lines, named by their numbers.
type few struct{ next, last int }

func (s *few) Next() (dispatch.Line, error) {
	if s.next++; s.next > s.last {
		return dispatch.Line{}, io.EOF
	}
	return dispatch.Line{Number: s.next, Analysis: spec.Analysis{ID: fmt.Sprint(s.next)}}, nil
}

func ended(state outcome.State) dispatch.LineResult {
	return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: state}}}
}

// always is a work of which each line ends alike.
func always(state outcome.State) dispatch.Work {
	return workFunc(func(dispatch.Line, <-chan request.StopSignal) dispatch.LineResult { return ended(state) })
}

var (
	term      = request.StopSignal{ExitCode: 143, Name: "SIGTERM"}
	interrupt = request.StopSignal{ExitCode: 130, Name: "SIGINT"}
)

func TestRunStartsAsManyAsItMay(t *testing.T) {
	const jobs, lines = 3, 50
	var mu sync.Mutex
	now, most := 0, 0
	crowd := make(chan struct{})
	b := Batch{Jobs: jobs, Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
		mu.Lock()
		now++
		most = max(most, now)
		if now == jobs && line.Number <= jobs {
			close(crowd)
		}
		mu.Unlock()
		<-crowd // the first lines run beside each other, or never end
		mu.Lock()
		defer mu.Unlock()
		now--
		return ended(outcome.Complete)
	})}
	s := b.Run(t.Context(), &few{last: lines}, nil)
	if s.Complete != lines || s.Last != lines || most != jobs {
		t.Errorf("%+v with %d at once, want %d complete with %d at once", s, most, lines, jobs)
	}
}

// TestRunOverlaps has lines that give up their places: the next begin, but no more than twice as many as may run are
// on their way.
func TestRunOverlaps(t *testing.T) {
	const jobs = 2
	lines := shortInRow
	for _, overlap := range []bool{true, false} {
		var mu sync.Mutex
		now, most := 0, jobs
		crowd := make(chan struct{})
		if overlap {
			most = 2 * jobs
		}
		b := Batch{Jobs: jobs, Overlap: overlap, Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
			mu.Lock()
			if now++; now > most {
				t.Errorf("%d are on their way, want at most %d", now, most)
			}
			if now == most && line.Number <= most {
				close(crowd)
			}
			mu.Unlock()
			if line.Vacate != nil {
				line.Vacate()
				line.Vacate() // changes nothing
			}
			<-crowd // never ends where the others do not begin
			mu.Lock()
			defer mu.Unlock()
			now--
			return ended(outcome.Complete)
		})}
		if s := b.Run(t.Context(), &few{last: lines}, nil); s.Complete != lines {
			t.Errorf("%+v, want %d complete", s, lines)
		}
	}
}

// TestRunWaitsForItsReader: while nobody reads the results, no more lines begin than may be on their way.
func TestRunWaitsForItsReader(t *testing.T) {
	const jobs, lines = 2, 12
	for overlap, most := range map[bool]int64{false: jobs, true: 2 * jobs} {
		synctest.Test(t, func(t *testing.T) {
			var begun atomic.Int64
			read := make(chan struct{})
			b := Batch{
				Jobs: jobs, Overlap: overlap,
				Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
					begun.Add(1)
					if line.Vacate != nil {
						line.Vacate()
					}
					return ended(outcome.Complete)
				}),
				Ended: func(dispatch.Line, dispatch.LineResult) { <-read },
			}
			done := make(chan Summary)
			go func() { done <- b.Run(t.Context(), &few{last: lines}, nil) }()
			synctest.Wait()
			if n := begun.Load(); n != most {
				t.Errorf("overlap %v: %d have begun, want %d", overlap, n, most)
			}
			close(read)
			if s := <-done; s.Complete != lines {
				t.Errorf("%+v, want %d complete", s, lines)
			}
		})
	}
}

func TestRunCounts(t *testing.T) {
	states := []outcome.State{outcome.Complete, outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost, outcome.Failed}
	var mu sync.Mutex
	var told []int
	b := Batch{
		Jobs: 2,
		Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
			o := ended(states[line.Number-1])
			o.Passed = line.Number == 1
			return o
		}),
		Ended: func(line dispatch.Line, _ dispatch.LineResult) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, line.Number)
		},
	}
	s := b.Run(t.Context(), &few{last: len(states)}, nil)
	want := Summary{Complete: 1, Failed: 2, Canceled: 1, Errors: 2, Passed: 1, Last: 6}
	if s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
	if slices.Sort(told); !slices.Equal(told, []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("told of %v", told)
	}
}

func TestRunStopsAfterFailures(t *testing.T) {
	for _, test := range []struct {
		most, started int
		passed        bool
	}{{0, 10, false}, {1, 1, false}, {3, 3, false}, {1, 10, true}} {
		b := Batch{Jobs: 1, MaxFailures: test.most, Work: workFunc(func(dispatch.Line, <-chan request.StopSignal) dispatch.LineResult {
			o := ended(outcome.Failed)
			o.Passed = test.passed
			return o
		})}
		s := b.Run(t.Context(), &few{last: 10}, nil)
		if s.Failed != test.started || s.Last != test.started || s.Full != (test.started < 10) {
			t.Errorf("at most %d failures, of an earlier batch %v: %+v, want %d started", test.most, test.passed, s, test.started)
		}
	}
}

// Of two that run when the first fails the other is not ended, and no third is started: the slot of the first is not free before it is
// counted.
func TestRunLetsOthersEndAfterAFailure(t *testing.T) {
	full := make(chan struct{})
	b := Batch{
		Jobs: 2, MaxFailures: 1, Draining: func() { close(full) },
		Work: workFunc(func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
			if line.Number == 1 {
				return ended(outcome.Failed)
			}
			<-full
			select {
			case <-stop:
				return ended(outcome.Canceled)
			default:
				return ended(outcome.Complete)
			}
		}),
	}
	if s := b.Run(t.Context(), &few{last: 9}, nil); s.Failed != 1 || s.Canceled > 0 || !s.Full || s.Last > 2 {
		t.Errorf("%+v", s)
	}
}

// stubborn ends with the second signal, and tells of each.
func stubborn(began chan<- int, heard chan<- request.StopSignal) dispatch.Work {
	return workFunc(func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
		began <- line.Number
		heard <- <-stop
		heard <- <-stop
		return ended(outcome.Canceled)
	})
}

func TestRunDrains(t *testing.T) {
	began, heard := make(chan int, 2), make(chan request.StopSignal, 4)
	signals := make(chan request.StopSignal)
	done := make(chan Summary)
	var abandoned []request.StopSignal
	drains := 0
	b := Batch{
		Jobs: 2, Work: stubborn(began, heard), Draining: func() { drains++ },
		Abandon: func(s request.StopSignal) { abandoned = append(abandoned, s) },
	}
	go func() { done <- b.Run(t.Context(), &few{last: 9}, signals) }()
	<-began
	<-began
	signals <- interrupt
	for range 2 {
		if s := <-heard; s != interrupt {
			t.Errorf("a run heard %+v", s)
		}
	}
	signals <- term
	s := <-done
	if s.Signal == nil || *s.Signal != interrupt || s.Canceled != 2 || s.Last != 2 || len(abandoned) > 0 {
		t.Errorf("%+v, abandoned by %v", s, abandoned)
	}
	if drains != 1 {
		t.Errorf("%d drains were told, want one", drains)
	}
}

func TestRunAbandonsWithTheThirdSignal(t *testing.T) {
	began, release := make(chan int, 1), make(chan struct{})
	signals := make(chan request.StopSignal)
	b := Batch{
		Jobs: 1,
		Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
			began <- line.Number
			<-release
			return ended(outcome.Canceled)
		}),
		Abandon: func(request.StopSignal) { close(release) },
	}
	go func() {
		<-began
		for range 3 {
			signals <- interrupt
		}
	}()
	b.Run(t.Context(), &few{last: 1}, signals)
}

// What reads the lines may wait for ever: a drain does not.
func TestRunDrainsWhileItsSourceWaits(t *testing.T) {
	pipe, to := io.Pipe()
	defer to.Close()
	signals := make(chan request.StopSignal, 1)
	signals <- term
	b := Batch{Jobs: 1, Work: always(outcome.Complete)}
	s := b.Run(t.Context(), NewReader(pipe, "pipe", nil), signals)
	if s.Signal == nil || s.Done() != 0 {
		t.Errorf("%+v", s)
	}
}

// A source that cannot be read further ends a batch early, which is reported while others run.
func TestRunDrainsAfterALineThatCannotBeRead(t *testing.T) {
	draining := make(chan struct{})
	b := Batch{Jobs: 1, Draining: func() { close(draining) }, Work: workFunc(func(dispatch.Line, <-chan request.StopSignal) dispatch.LineResult {
		<-draining
		return ended(outcome.Complete)
	})}
	if s := b.Run(t.Context(), &broken{few{last: 1}}, nil); s.Complete != 1 || s.Err == nil {
		t.Errorf("%+v", s)
	}
}

// broken cannot be read after its last line.
type broken struct{ few }

func (b *broken) Next() (dispatch.Line, error) {
	line, err := b.few.Next()
	if err != nil {
		err = io.ErrUnexpectedEOF
	}
	return line, err
}

// stop asks one run of many to end.
func TestRunStopsOneAlone(t *testing.T) {
	began, heard := make(chan int, 2), make(chan request.StopSignal, 4)
	signals := make(chan request.StopSignal)
	finish := make(chan struct{})
	asked := func(id string) []int64 { return map[string][]int64{"2": {1}}[id] }
	b := Batch{Jobs: 2, Asked: asked, Work: workFunc(func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
		began <- line.Number
		select {
		case s := <-stop:
			heard <- s
			return ended(outcome.Canceled)
		case <-finish:
			return ended(outcome.Complete)
		}
	})}
	done := make(chan Summary)
	go func() { done <- b.Run(t.Context(), &few{last: 2}, signals) }()
	<-began
	<-began
	signals <- term
	<-heard
	close(finish)
	if s := <-done; s.Signal != nil || s.Canceled != 1 || s.Complete != 1 {
		t.Errorf("%+v", s)
	}
}

// A further signal is for all, also while the run that was asked first has not ended.
func TestRunDrainsThoughOneWasAskedAlone(t *testing.T) {
	began, heard := make(chan int, 2), make(chan request.StopSignal, 4)
	signals := make(chan request.StopSignal)
	b := Batch{Jobs: 2, Asked: func(id string) []int64 { return map[string][]int64{"2": {1}}[id] }, Work: workFunc(func(line dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
		began <- line.Number
		for range line.Number { // the second line ends with the second signal
			heard <- <-stop
		}
		return ended(outcome.Canceled)
	})}
	done := make(chan Summary)
	go func() { done <- b.Run(t.Context(), &few{last: 9}, signals) }()
	<-began
	<-began
	signals <- term
	<-heard
	signals <- term
	select {
	case s := <-done:
		if s.Signal == nil || s.Canceled != 2 {
			t.Errorf("%+v", s)
		}
	case <-time.After(time.Minute):
		t.Fatal("the batch does not drain")
	}
}

func TestRunTellsWhyLinesEnd(t *testing.T) {
	broken := errors.New("broken")
	b := Batch{Jobs: 1, Work: always(outcome.Complete)}
	from := io.MultiReader(strings.NewReader("{}\n"), &failing{broken})
	s := b.Run(t.Context(), NewReader(from, "x", func([]byte, int) dispatch.Line { return dispatch.Line{Number: 1} }), nil)
	if !errors.Is(s.Err, broken) || s.Complete != 1 {
		t.Errorf("%+v", s)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestRetrying(t *testing.T) {
	refused := &request.Error{Err: errors.New("no")}
	with := func(state outcome.State, reason outcome.Reason, err error) dispatch.LineResult {
		return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: state, Reason: reason}}, Err: err}
	}
	for name, test := range map[string]struct {
		outcomes []dispatch.LineResult
		calls    int
	}{
		"complete":       {[]dispatch.LineResult{with(outcome.Complete, "", nil)}, 1},
		"failed":         {[]dispatch.LineResult{with(outcome.Failed, outcome.ReasonExit, nil)}, 1},
		"canceled":       {[]dispatch.LineResult{with(outcome.Canceled, outcome.ReasonStopped, nil)}, 1},
		"refused":        {[]dispatch.LineResult{with(outcome.Error, outcome.ReasonSandbox, refused)}, 1},
		"request":        {[]dispatch.LineResult{with(outcome.Error, outcome.ReasonRequest, nil)}, 1},
		"commit":         {[]dispatch.LineResult{with(outcome.Error, outcome.ReasonCommit, nil)}, 1},
		"no catalog":     {slices.Repeat([]dispatch.LineResult{with(outcome.Error, outcome.ReasonCommit, &request.CatalogError{Err: errors.New("busy")})}, 3), 3},
		"hook":           {[]dispatch.LineResult{with(outcome.Error, outcome.ReasonPostProcess, nil)}, 1},
		"passed over":    {[]dispatch.LineResult{{Passed: true, Result: result.Result{Outcome: outcome.Outcome{State: outcome.Error}}}}, 1},
		"error for good": {slices.Repeat([]dispatch.LineResult{with(outcome.Error, outcome.ReasonSandbox, nil)}, 3), 3},
		"error once":     {[]dispatch.LineResult{with(outcome.Error, outcome.ReasonHarvest, nil), with(outcome.Complete, "", nil)}, 2},
		"lost once":      {[]dispatch.LineResult{with(outcome.Lost, outcome.ReasonSupervisorLost, nil), with(outcome.Failed, "", nil)}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			var pauses []int
			r := Retrying{
				Retries: 2,
				Work: workFunc(func(dispatch.Line, <-chan request.StopSignal) dispatch.LineResult {
					calls++
					return test.outcomes[calls-1]
				}),
				Pause: func(n int) time.Duration { pauses = append(pauses, n); return 0 },
			}
			o := r.Do(t.Context(), dispatch.Line{}, nil)
			if calls != test.calls || o.Result.State != test.outcomes[calls-1].Result.State {
				t.Errorf("%d attempts, the last %s", calls, o.Result.State)
			}
			if !slices.Equal(pauses, []int{1, 2}[:calls-1]) {
				t.Errorf("pauses %v", pauses)
			}
		})
	}
}

// A stop while it waits ends the waiting, and there is no other attempt.
func TestRetryingStops(t *testing.T) {
	stop := make(chan request.StopSignal, 1)
	stop <- term
	r := Retrying{Retries: 1, Work: always(outcome.Error), Pause: func(int) time.Duration { return time.Hour }}
	if o := r.Do(t.Context(), dispatch.Line{}, stop); o.Result.State != outcome.Error {
		t.Errorf("%+v", o)
	}
}

// Nor is there another attempt of what was asked to end and heard it, however it ended.
func TestRetryingEndsWithAnAttemptThatWasStopped(t *testing.T) {
	stop := make(chan request.StopSignal, 1)
	stop <- term
	attempts := 0
	r := Retrying{
		Retries: 1, Pause: func(int) time.Duration { return 0 },
		Work: workFunc(func(_ dispatch.Line, stop <-chan request.StopSignal) dispatch.LineResult {
			if attempts++; attempts == 1 {
				if s := <-stop; s != term {
					t.Errorf("it heard %+v", s)
				}
			}
			return ended(outcome.Lost)
		}),
		Tell: func(dispatch.Line, dispatch.LineResult, int, time.Duration) { t.Error("a retry is told") },
	}
	r.Do(t.Context(), dispatch.Line{}, stop)
	if attempts != 1 {
		t.Errorf("%d attempts", attempts)
	}
}

// pastOf is a Past of one run.
type pastOf struct {
	last    result.Result
	changes []string
	err     error
	hook    bool
}

func (p pastOf) Last(context.Context, dispatch.Line, <-chan request.StopSignal) (result.Result, []string, error) {
	return p.last, p.changes, p.err
}

func (p pastOf) Refuse(_ dispatch.Line, err error) dispatch.LineResult {
	return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: outcome.Error, Message: err.Error()}}, Err: err}
}

func (p pastOf) PostProcess(context.Context, dispatch.Line, result.Result, <-chan request.StopSignal) (dispatch.LineResult, bool) {
	return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: outcome.Complete, Message: "hook"}}}, p.hook
}

func TestResuming(t *testing.T) {
	was := func(state outcome.State) pastOf {
		return pastOf{last: result.Result{Outcome: outcome.Outcome{State: state}}}
	}
	owed := result.Result{Outcome: outcome.Outcome{State: outcome.Error, Reason: outcome.ReasonPostProcess}}
	for name, test := range map[string]struct {
		past          pastOf
		ran, passed   bool
		state         outcome.State
		message, noID string
	}{
		"never run":     {past: pastOf{err: catalog.ErrNotFound}, ran: true, state: outcome.Complete},
		"complete":      {past: was(outcome.Complete), passed: true, state: outcome.Complete},
		"failed":        {past: was(outcome.Failed), passed: true, state: outcome.Failed},
		"error":         {past: was(outcome.Error), ran: true, state: outcome.Complete},
		"lost":          {past: was(outcome.Lost), ran: true, state: outcome.Complete},
		"canceled":      {past: was(outcome.Canceled), ran: true, state: outcome.Complete},
		"hook":          {past: pastOf{last: owed, hook: true}, state: outcome.Complete, message: "hook"},
		"hook not told": {past: pastOf{last: owed}, passed: true, state: outcome.Error},
		"changed": {
			past:  pastOf{last: result.Result{Outcome: outcome.Outcome{State: outcome.Complete}}, changes: []string{"pids was 1 and is 2"}},
			state: outcome.Error, message: "pids was 1 and is 2",
		},
		"broken": {past: pastOf{err: errors.New("no catalog")}, state: outcome.Error, message: "no catalog"},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			r := Resuming{Past: test.past, Work: workFunc(func(dispatch.Line, <-chan request.StopSignal) dispatch.LineResult {
				ran = true
				return ended(outcome.Complete)
			})}
			o := r.Do(t.Context(), dispatch.Line{Analysis: spec.Analysis{ID: "a"}}, nil)
			if ran != test.ran || o.Passed != test.passed || o.Result.State != test.state || !strings.Contains(o.Result.Message, test.message) {
				t.Errorf("run: %v, %+v", ran, o)
			}
		})
	}
}

func TestRerun(t *testing.T) {
	const ran, anew, passed, changed, hook, refused = "ran", "anew", "passed", "passed, changed", "hook", "refused"
	states := map[string]result.Result{
		"complete": {Outcome: outcome.Outcome{State: outcome.Complete}}, "failed": {Outcome: outcome.Outcome{State: outcome.Failed}}, "canceled": {Outcome: outcome.Outcome{State: outcome.Canceled}},
		"running": {Outcome: outcome.Outcome{State: outcome.Running}}, "hook": {Outcome: outcome.Outcome{State: outcome.Error, Reason: outcome.ReasonPostProcess}},
	}
	for name, want := range map[string]map[Rerun]string{ // by the state of the last attempt, and whether the line has changed
		"complete":          {RerunNone: passed, RerunFailed: passed, RerunChanged: passed, RerunAll: anew},
		"complete, changed": {RerunNone: refused, RerunFailed: changed, RerunChanged: anew, RerunAll: anew},
		"failed":            {RerunNone: passed, RerunFailed: anew, RerunChanged: passed, RerunAll: anew},
		"failed, changed":   {RerunNone: refused, RerunFailed: anew, RerunChanged: anew, RerunAll: anew},
		"canceled":          {RerunNone: ran, RerunFailed: anew, RerunChanged: ran, RerunAll: anew},
		"canceled, changed": {RerunNone: refused, RerunFailed: anew, RerunChanged: anew, RerunAll: anew},
		"running":           {RerunNone: ran, RerunFailed: ran, RerunChanged: ran, RerunAll: anew},
		"hook":              {RerunNone: hook, RerunFailed: anew, RerunChanged: hook, RerunAll: anew},
		"none":              {RerunNone: ran, RerunFailed: ran, RerunChanged: ran, RerunAll: ran},
	} {
		state, _, isChanged := strings.Cut(name, ", ")
		past := pastOf{last: states[state], hook: true}
		if isChanged {
			past.changes = []string{"pids was 1 and is 2"}
		}
		if state == "none" {
			past.err = catalog.ErrNotFound
		}
		for rerun, want := range want {
			got := ""
			r := Resuming{Past: past, Rerun: rerun, Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
				got = ran
				if line.Rerun {
					got = anew
				}
				return ended(outcome.Complete)
			})}
			switch o := r.Do(t.Context(), dispatch.Line{Analysis: spec.Analysis{ID: "a"}}, nil); {
			case o.Changed && o.Passed:
				got = changed
			case o.Passed:
				got = passed
			case o.Changed && o.Err != nil && strings.Contains(o.Err.Error(), "--rerun changed"):
				got = refused
			case o.Result.Message == "hook":
				got = hook
			}
			if got != want {
				t.Errorf("%s, --rerun %q: %s, want %s", name, rerun, got, want)
			}
		}
	}
}

func TestResumingChecks(t *testing.T) {
	no := errors.New("no")
	r := Resuming{
		Past: pastOf{err: catalog.ErrNotFound}, Check: func(dispatch.Line) error { return no },
		Work: workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
			return dispatch.LineResult{Err: line.Err}
		}),
	}
	if o := r.Do(t.Context(), dispatch.Line{Analysis: spec.Analysis{ID: "a"}}, nil); !errors.Is(o.Err, no) {
		t.Errorf("%+v", o)
	}
}

func TestResumingNeedsAnID(t *testing.T) {
	r := Resuming{Past: pastOf{}, Work: always(outcome.Complete)}
	var refused *request.Error
	if o := r.Do(t.Context(), dispatch.Line{}, nil); !errors.As(o.Err, &refused) || !errors.Is(refused.Err, ErrNoID) {
		t.Errorf("%+v", o)
	}
}
