package batch

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Where analyses are short, making one ready takes as long as it runs. So the next ones are made ready, up to their first
// instruction, while those before them run. What is ready when a batch is drained has a row in the catalog and is
// canceled: therefore none is made ready ahead for analyses of which one would wait for long (docs/adr/0020).

const (
	shortTime  = time.Second // an analysis that takes less is short
	shortInRow = 16          // as many, and no other, are taken for what comes
)

// streak is how many analyses in a row were short.
type streak int

func (s *streak) add(o Outcome) {
	if *s++; time.Duration(o.Result.Usage.WallMS)*time.Millisecond >= shortTime {
		*s = 0
	}
}

func (s streak) lasts() bool { return s >= shortInRow }

// turns say which lines may begin: those before which fewer than jobs lines have not ended their analyses yet. So as many
// run at once at most, and they begin no more out of order than if nothing were made ready ahead.
type turns struct {
	jobs int
	mu   sync.Mutex
	live []*turn // in the order of the lines
}

// turn is that of one line.
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

// call lets those begin whose turn it is.
func (t *turns) call() {
	for _, line := range t.live[:min(t.jobs, len(t.live))] {
		if !line.open {
			line.open = true
			close(line.begin)
		}
	}
}

// wait waits for a line's turn until ctx ends, and returns why it did. An attempt after the first has it still.
func (t *turn) wait(ctx context.Context) error {
	select {
	case <-t.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end says that the analysis of a line has ended, or never will begin. Further calls do nothing.
func (t *turn) end() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.live = slices.DeleteFunc(t.of.live, func(line *turn) bool { return line == t })
	t.of.call()
}
