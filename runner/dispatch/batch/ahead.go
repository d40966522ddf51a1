package batch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Short analyses take as long to prepare as to run. So the next ones are prepared, up to their first instruction, while
// earlier ones run. What is prepared when a batch drains has a row in the catalog and is canceled: so nothing is prepared
// ahead for analyses that would wait for long (docs/adr/0020). Where processors and memory are idle, that is a minute: a
// script has its modules imported while it waits (docs/adr/0036).

// shortInRow analyses below a second make the next ones expected to be short.
const shortInRow = 16

// streak is how many analyses in a row took less time than below.
type streak struct {
	below time.Duration
	inRow int // so many: the next is expected to take less too
	seen  int
}

func (s *streak) add(o Outcome) {
	if s.seen++; time.Duration(o.Result.Usage.WallMS)*time.Millisecond >= s.below {
		s.seen = 0
	}
}

func (s *streak) lasts() bool { return s.seen >= s.inRow }

// ahead is how many lines may be made ready while others run.
func (d *dispatch) ahead() int {
	switch {
	case !d.Overlap:
		return 0
	case d.short.lasts():
		return d.turns.jobs
	case d.brief.lasts():
		return min(d.Idle, d.turns.jobs)
	default:
		return 0
	}
}

// turns says which lines may start: those before which fewer than jobs lines have not ended their analyses yet. So at most
// that many run at once, and the order of starts is as without preparation ahead.
type turns struct {
	jobs int
	mu   sync.Mutex
	live []*turn // in the order of the lines
}

// turn is one line's turn.
type turn struct {
	of    *turns
	begin chan struct{} // closed when it is its turn
	open  bool
}

// next is the turn of a line that comes after all others.
func (t *turns) next() *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := &turn{of: t, begin: make(chan struct{})}
	t.live = append(t.live, line)
	t.call()
	return line
}

// call starts lines that have their turn.
func (t *turns) call() {
	for _, line := range t.live[:min(t.jobs, len(t.live))] {
		if !line.open {
			line.open = true
			close(line.begin)
		}
	}
}

// wait waits for the line's turn until ctx ends, and returns the cause then. A retry keeps the turn.
func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end notes that the analysis of a line has ended or will never start. It is idempotent.
func (t *turn) end() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.live = slices.DeleteFunc(t.of.live, func(line *turn) bool { return line == t })
	t.of.call()
}
