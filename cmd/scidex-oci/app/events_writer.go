package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/sendqueue"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// eventsWriter writes events in order, each as one line in one write, for any number of runs at once. Events are queued: above
// limit bytes optional ones are dropped and counted. At twice that, or at the end, Put waits for the reader, and gives up
// once it has read nothing for the timeout.
type eventsWriter struct {
	to      io.WriteCloser
	queue   *sendqueue.Queue[event.Event]
	timeout time.Duration
	limit   int

	mu      sync.Mutex
	dropped map[string]event.Dropped // by run
}

const (
	readTimeout = 10 * time.Second
	// queueLimit is more than both streams of one run with the default of --log-size.
	queueLimit = 40 << 20
)

// newEventsWriter makes the Writer of a file, which it closes.
func newEventsWriter(to io.WriteCloser) *eventsWriter {
	s := &eventsWriter{to: to, timeout: readTimeout, limit: queueLimit, dropped: map[string]event.Dropped{}}
	s.queue = sendqueue.New(s.write)
	return s
}

func (s *eventsWriter) write(e event.Event) error {
	line, err := screen.JSONLine(e)
	if err == nil {
		_, err = s.to.Write(line)
	}
	return err
}

// Put queues an event. It returns an error where events can no longer be written.
func (s *eventsWriter) Put(e event.Event) error {
	size := eventSize(e)
	if e.Optional() && s.queue.Size()+size > s.limit {
		s.drop(e)
		return nil
	}
	if err := s.queue.WaitFor(2*s.limit, time.Now(), s.timeout); err != nil {
		return s.explain(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, some := s.dropped[e.ID]; some {
		e.Dropped = &d
		delete(s.dropped, e.ID)
	}
	return s.explain(s.queue.Put(e, size))
}

func (s *eventsWriter) drop(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.dropped[e.ID]
	d.Count(e)
	s.dropped[e.ID] = d
}

// Finish queues the event of the end of a run, or of its refusal.
func (s *eventsWriter) Finish(r result.Result) error {
	return s.Put(event.New(event.TypeFinished, r.ID, r))
}

// Close waits until all events are written, and returns why they were not. A file in which a write hangs stays open.
func (s *eventsWriter) Close() error {
	err := s.queue.Close(time.Now(), s.timeout)
	if !errors.Is(err, sendqueue.ErrStuck) {
		err = cmp.Or(err, s.to.Close())
	}
	return s.explain(err)
}

// explain says why events could not be written.
func (s *eventsWriter) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		err = errors.New("their reader has gone")
	case errors.Is(err, sendqueue.ErrStuck):
		err = fmt.Errorf("they were not read for %s", s.timeout)
	}
	return fmt.Errorf("not all events of --events could be passed on: %w; \"scidex-oci show\" and \"logs\" have the rest", err)
}

// eventSize is about how much memory a queued event takes.
func eventSize(e event.Event) int {
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
