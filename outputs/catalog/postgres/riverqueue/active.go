package riverqueue

import (
	"maps"
	"slices"
	"sync"
)

// active are the jobs that a worker has.
type active struct {
	mu   sync.Mutex
	jobs map[int64]bool
}

func (a *active) add(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[id] = true
}

func (a *active) remove(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.jobs, id)
}

// known are their numbers.
func (a *active) known() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.AppendSeq([]int64{}, maps.Keys(a.jobs))
}
