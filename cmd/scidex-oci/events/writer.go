package events

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

// Writer writes events in order, each as one line in one write, for any number of runs at once. Events are queued: above
// limit bytes optional ones are dropped and counted. At twice that, or at the end, Put waits for the reader, and gives up
// once it has read nothing for the timeout.
type Writer struct {
	to      io.WriteCloser
	timeout time.Duration
	limit   int

	mu      sync.Mutex
	changed *sync.Cond
	queue   []event.Event
	size    int // bytes of queue, about
	dropped map[string]event.Dropped
	moved   time.Time // the reader took something, or the queue was empty
	ended   bool      // no more events
	err     error     // the write error
	done    chan struct{}
}

const (
	readTimeout = 10 * time.Second
	// queueLimit is more than both streams of one run with the default of --log-size.
	queueLimit = 40 << 20
)

// NewWriter makes the Writer of a file, which it closes.
func NewWriter(to io.WriteCloser) *Writer {
	s := &Writer{to: to, timeout: readTimeout, limit: queueLimit, dropped: map[string]event.Dropped{}, done: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	go s.run()
	return s
}

// Put queues an event. It returns an error where events can no longer be written.
func (s *Writer) Put(e event.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := sizeOf(e)
	if s.err == nil && e.Optional() && s.size+size > s.limit {
		s.drop(e)
		return nil
	}
	s.await(func() bool { return s.size < 2*s.limit })
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

func (s *Writer) drop(e event.Event) {
	d := s.dropped[e.ID]
	d.Count(e)
	s.dropped[e.ID] = d
}

// Finish queues the event of the end of a run, or of its refusal.
func (s *Writer) Finish(r result.Result) error {
	return s.Put(event.New(event.TypeFinished, r.ID, r))
}

// Close waits until all events are written, and returns why they were not.
func (s *Writer) Close() error {
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

// await waits, with the lock, until done, an error, or the timeout.
func (s *Writer) await(done func() bool) {
	for begin := time.Now(); s.err == nil && !done(); {
		left := s.timeout - min(time.Since(s.moved), time.Since(begin))
		if left <= 0 {
			s.fail(fmt.Errorf("they were not read for %s", s.timeout))
			return
		}
		timer := time.AfterFunc(left, s.changed.Broadcast)
		s.changed.Wait()
		timer.Stop()
	}
}

// fail ends the Writer, with the lock. The first error is kept.
func (s *Writer) fail(err error) {
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

// run writes the queue until the end.
func (s *Writer) run() {
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
		s.remove(e, err)
	}
	if err := s.to.Close(); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.fail(err)
	}
}

// next waits for an event and leaves it in the queue.
func (s *Writer) next() (e event.Event, ok bool) {
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

// remove takes the written event out of the queue.
func (s *Writer) remove(e event.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.fail(err)
	}
	if s.err != nil {
		return
	}
	s.queue[0] = event.Event{}
	s.queue, s.size, s.moved = s.queue[1:], s.size-sizeOf(e), time.Now()
	s.changed.Broadcast()
}

// sizeOf is about how much memory a queued event takes.
func sizeOf(e event.Event) int {
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
