package batch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// gated is a work whose lines wait at a gate. It ends them only when as many as are wanted are on their way.
type gated struct {
	t     *testing.T
	lines int
	crowd func(line int) int // how many are to be on their way before the analysis of a line ends
	wall  int64              // milliseconds that each is told to take

	mu               sync.Mutex
	changed          *sync.Cond
	started, ended   int
	within, mostWith int // analyses that run
	mostAhead        int // lines on their way
}

func (g *gated) Do(ctx context.Context, line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started++
	g.mostAhead = max(g.mostAhead, g.started-g.ended)
	g.changed.Broadcast()
	g.mu.Unlock()
	err := line.Admit(ctx)
	g.mu.Lock()
	if err != nil {
		g.t.Errorf("line %d: %v", line.Number, err)
	}
	g.within++
	g.mostWith = max(g.mostWith, g.within)
	for g.started < g.lines && g.started-g.ended < g.crowd(line.Number) {
		g.changed.Wait()
	}
	g.within--
	g.ended++
	g.changed.Broadcast()
	return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: outcome.Complete}, Report: result.Report{Usage: result.Usage{WallMS: g.wall}}}}
}

// shortInRow is how many short lines there are before the next ones are prepared (admission).
const shortInRow = 16

// TestRunMakesReadyAhead has as many lines again on their way as may run, once enough of them were short. It hangs where
// they do not come.
func TestRunMakesReadyAhead(t *testing.T) {
	const jobs, lines = 2, 50
	for _, c := range []struct {
		wall       int64
		idle, most int
	}{{999, 0, 2 * jobs}, {1000, 0, jobs}, {1000, 1, jobs + 1}, {59_999, 9, 2 * jobs}, {60_000, 9, jobs}} {
		wall, most := c.wall, c.most
		g := &gated{t: t, lines: lines, wall: wall, crowd: func(line int) int {
			if line > shortInRow+jobs {
				return most
			}
			return 1
		}}
		g.changed = sync.NewCond(&g.mu)
		b := Batch{Jobs: jobs, Overlap: true, Idle: c.idle, Work: g}
		if s := b.Run(t.Context(), &few{last: lines}, nil); s.Complete != lines {
			t.Errorf("%+v, want %d complete", s, lines)
		}
		if g.mostWith > jobs || g.mostAhead != most {
			t.Errorf("of %d ms each, %d ran at once and %d were on their way, want %d and %d", wall, g.mostWith, g.mostAhead, jobs, most)
		}
	}
}

// TestRunRepeatsWhatHasItsTurn: a supervisor that dies takes all analyses with it, and none of them has ended its turn
// before its next attempt wants one.
func TestRunRepeatsWhatHasItsTurn(t *testing.T) {
	const jobs = 2
	var ready sync.WaitGroup // all have their turn before the first attempt of any ends
	ready.Add(jobs)
	var mu sync.Mutex
	attempts := map[int]int{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	lost := workFunc(func(line dispatch.Line, _ <-chan request.StopSignal) dispatch.LineResult {
		if err := line.Admit(ctx); err != nil {
			t.Errorf("line %d: %v", line.Number, err)
		}
		mu.Lock()
		attempts[line.Number]++
		first := attempts[line.Number] == 1
		mu.Unlock()
		if first {
			ready.Done()
			ready.Wait()
			return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: outcome.Lost}}}
		}
		return dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: outcome.Complete}}}
	})
	b := Batch{Jobs: jobs, Overlap: true, Work: Retrying{Work: lost, Retries: 1, Pause: func(int) time.Duration { return 0 }}}
	if s := b.Run(t.Context(), &few{last: jobs}, nil); s.Complete != jobs {
		t.Errorf("%+v, want %d complete", s, jobs)
	}
}
