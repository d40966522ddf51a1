package spans

import "sync"

// waitMost is how many spans wait at most to be sent.
const waitMost = 20_000

// Queue keeps the traces of ended runs until they are sent. Runs of a nil Queue make no spans. Several goroutines may use it.
type Queue struct {
	// Parent is the parent of each run that has none of its own. If it is the zero Context, each such run makes a trace of its own.
	Parent Context
	// Ready is called when the first of several traces waits. It must not block.
	Ready func()

	mu      sync.Mutex
	waiting []Trace
	spans   int
	dropped int
}

// Begin returns the spans of a further run, or nil if q is nil. Their parent is own, or q.Parent if own is zero.
func (q *Queue) Begin(own Context) *Run {
	switch {
	case q == nil:
		return nil
	case own.Trace != "":
		return newRun(own)
	}
	return newRun(q.Parent)
}

// Put adds a trace, or drops it if too many wait.
func (q *Queue) Put(t Trace) {
	q.mu.Lock()
	first := len(q.waiting) == 0
	if q.spans+len(t.Phases) > waitMost {
		q.dropped++
		q.mu.Unlock()
		return
	}
	q.waiting, q.spans = append(q.waiting, t), q.spans+len(t.Phases)
	q.mu.Unlock()
	if first && q.Ready != nil {
		q.Ready()
	}
}

// Take returns what waits, and how many traces were dropped since the last time.
func (q *Queue) Take() (waiting []Trace, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, dropped = q.waiting, q.dropped
	q.waiting, q.spans, q.dropped = nil, 0, 0
	return waiting, dropped
}
