package worker

import (
	"maps"
	"sync"
)

// tally counts by class.
type tally struct {
	mu      sync.Mutex
	classes map[string]int64
}

func (t *tally) add(class string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.classes == nil {
		t.classes = map[string]int64{}
	}
	t.classes[class] += n
}

func (t *tally) read() (all int64, classes map[string]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.classes {
		all += n
	}
	return all, maps.Clone(t.classes)
}
