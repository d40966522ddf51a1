package batch

import (
	"context"
	"slices"
	"sync"
)

// Short analyses take as long to prepare as to run. So the next ones are prepared, up to their first instruction, while
// earlier ones run. What is prepared when a batch drains has a row in the catalog and is canceled: so nothing is prepared
// ahead for analyses that would wait for long (docs/adr/0020). Where processors and memory are idle, that is a minute: a
// script has its modules imported while it waits (docs/adr/0036).

// ahead is how many lines may be made ready while others run.
func (d *dispatch) ahead() int {
	switch {
	case !d.Overlap:
		return 0
	case d.short.Lasts():
		return d.turns.jobs
	case d.brief.Lasts():
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
