package main

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// sink passes events on, in order, each as one line in one write. It is for any number of runs at the same time, and
// none of them waits for its reader: events queue up, above bound bytes those that are optional are left out and
// counted, and at twice that, or at the end, a reader that takes nothing for as long as patience is given up.
type sink struct {
	to       io.WriteCloser
	patience time.Duration
	bound    int

	mu      sync.Mutex
	changed *sync.Cond
	queue   []event.Event
	size    int // bytes of queue, about
	dropped map[string]event.Dropped
	moved   time.Time // the reader took something, or had nothing to take
	ended   bool      // nothing comes any more
	err     error     // nothing goes any more
	done    chan struct{}
}

const (
	sinkPatience = 10 * time.Second
	// sinkBound is more than both streams of one run hold with the default of --log-size.
	sinkBound = 40 << 20
)

// newSink makes the sink of a file, which it closes.
func newSink(to io.WriteCloser) *sink {
	s := &sink{to: to, patience: sinkPatience, bound: sinkBound, dropped: map[string]event.Dropped{}, done: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	go s.pass()
	return s
}

// put takes an event for as long as they can be passed on, and then returns why they cannot.
func (s *sink) put(e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := weight(e)
	if s.err == nil && e.Optional() && s.size+size > s.bound {
		s.drop(e)
		return nil
	}
	s.await(func() bool { return s.size < 2*s.bound })
	if s.err != nil || s.ended {
		return s.err
	}
	if d, some := s.dropped[e.ID]; some {
		e.Dropped = &d
		delete(s.dropped, e.ID)
	}
	if len(s.queue) == 0 {
		s.moved = time.Now()
	}
	s.queue, s.size = append(s.queue, e), s.size+size
	s.changed.Broadcast()
	return nil
}

func (s *sink) drop(e event.Event) {
	d := s.dropped[e.ID]
	if e.Type == event.TypeLog {
		d.Log++
	} else {
		d.Usage++
	}
	s.dropped[e.ID] = d
}

// finish tells the end of a run, or that there was none.
func (s *sink) finish(r result.Result) error {
	return s.put(event.New(event.TypeFinished, r.ID, r))
}

// close waits until all is passed on, and returns why it was not.
func (s *sink) close() error {
	s.mu.Lock()
	s.ended = true
	s.changed.Broadcast()
	s.await(func() bool { return len(s.queue) == 0 })
	hangs := s.err != nil
	s.mu.Unlock()
	if !hangs { // in a write; the file stays open then
		<-s.done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// await waits, with the lock, until done says so, events cannot be passed on, or the reader is given up.
func (s *sink) await(done func() bool) {
	for begin := time.Now(); s.err == nil && !done(); {
		left := s.patience - min(time.Since(s.moved), time.Since(begin))
		if left <= 0 {
			s.fail(fmt.Errorf("nobody has read them for %s", s.patience))
			return
		}
		timer := time.AfterFunc(left, s.changed.Broadcast)
		s.changed.Wait()
		timer.Stop()
	}
}

// fail ends the sink, with the lock. The first error is the one that counts.
func (s *sink) fail(err error) {
	if s.err != nil {
		return
	}
	if errors.Is(err, syscall.EPIPE) {
		err = errors.New("their reader has gone")
	}
	s.err = fmt.Errorf("not all events of --events could be passed on: %w; \"scidex-oci show\" and \"logs\" have the rest", err)
	s.queue, s.size, s.dropped = nil, 0, nil
	s.changed.Broadcast()
}

// pass writes what is in the queue until the end.
func (s *sink) pass() {
	defer close(s.done)
	for {
		e, ok := s.next()
		if !ok {
			break
		}
		line, err := screen.JSONLine(e)
		if err == nil {
			_, err = s.to.Write(line)
		}
		s.passed(e, err)
	}
	if err := s.to.Close(); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(err)
	}
}

// next waits for an event and leaves it in the queue.
func (s *sink) next() (e event.Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && len(s.queue) == 0 && !s.ended {
		s.changed.Wait()
	}
	if s.err != nil || len(s.queue) == 0 {
		return e, false
	}
	return s.queue[0], true
}

// passed takes an event out of the queue.
func (s *sink) passed(e event.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fail(err)
	}
	if s.err != nil {
		return
	}
	s.queue[0] = event.Event{}
	s.queue, s.size, s.moved = s.queue[1:], s.size-weight(e), time.Now()
	s.changed.Broadcast()
}

// weight is about how much memory an event takes while it waits.
func weight(e event.Event) int {
	const rest = 256
	switch data := e.Data.(type) {
	case event.Log:
		return rest + data.Size()
	case event.Created:
		return rest + len(data.Analysis)
	case result.Result:
		const entry = 256
		return rest + len(data.Analysis) + entry*(len(data.Outputs)+len(data.Rejected))
	}
	return rest
}
