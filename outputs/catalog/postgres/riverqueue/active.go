package riverqueue

import (
	"maps"
	"slices"
	"sync"
)

// active are the jobs that a worker has, with their queues.
type active struct {
	mu   sync.Mutex
	jobs map[int64]string
}

func (a *active) add(id int64, queue string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[id] = queue
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

// count is how many there are of a queue, and of all.
func (a *active) count(queue string) (here, everywhere int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.jobs {
		if of == queue {
			here++
		}
	}
	return here, len(a.jobs)
}
