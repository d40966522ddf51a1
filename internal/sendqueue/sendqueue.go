// Package sendqueue passes items on to a reader that may be slow, one after the other, without making their senders wait. It knows how
// much waits and whether the reader takes anything, so that a sender may wait, drop or give up. A caller need not know of the goroutine that
// writes.
package sendqueue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrStuck is why a queue fails whose reader took nothing for as long as Wait allows.
var ErrStuck = errors.New("nothing was read")

// Queue is a queue of items. It is safe for concurrent use. Close it.
type Queue[T any] struct {
	write func(T) error

	mu      sync.Mutex
	changed *sync.Cond
	items   []item[T]
	size    int       // bytes of items
	moved   time.Time // the reader took something, or the queue was empty
	ended   bool      // nothing more is put
	err     error     // why nothing more is written
	failed  chan struct{}
	done    chan struct{}
}

type item[T any] struct {
	value T
	size  int
}

// New makes a queue whose items are passed on by write.
func New[T any](write func(T) error) *Queue[T] {
	q := &Queue[T]{write: write, failed: make(chan struct{}), done: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	go q.run()
	return q
}

// Size is how many bytes wait, as their senders count them.
func (q *Queue[T]) Size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.size
}

// Put queues an item, and returns why the queue has failed. After Close an item is dropped.
func (q *Queue[T]) Put(value T, size int) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err != nil || q.ended {
		return q.err
	}
	if len(q.items) == 0 {
		q.moved = time.Now()
	}
	q.items, q.size = append(q.items, item[T]{value, size}), q.size+size
	q.changed.Broadcast()
	return nil
}

// Fail ends the queue: what waits is dropped. The first error is kept.
func (q *Queue[T]) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.fail(err)
}

func (q *Queue[T]) fail(err error) {
	if q.err != nil {
		return
	}
	q.err = err
	q.items, q.size = nil, 0
	close(q.failed)
	q.changed.Broadcast()
}

// Failed is closed when the queue has failed.
func (q *Queue[T]) Failed() <-chan struct{} { return q.failed }

// Wait waits until less than below bytes wait, and returns why the queue has failed, or the cause of the end of ctx.
func (q *Queue[T]) Wait(ctx context.Context, below int) error {
	defer context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.changed.Broadcast()
	})()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && ctx.Err() == nil && q.size >= below {
		q.changed.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return q.err
}

// WaitFor is Wait for a reader that takes something: the queue fails with ErrStuck if it took nothing for the timeout since then.
func (q *Queue[T]) WaitFor(below int, since time.Time, timeout time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && q.size >= below {
		from := since
		if q.moved.After(from) {
			from = q.moved
		}
		left := timeout - time.Since(from)
		if left <= 0 {
			q.fail(ErrStuck)
			break
		}
		timer := time.AfterFunc(left, q.changed.Broadcast)
		q.changed.Wait()
		timer.Stop()
	}
	return q.err
}

// Close waits as WaitFor does until all is written, and returns why the queue has failed. Then no write is in progress, unless it failed.
func (q *Queue[T]) Close(since time.Time, timeout time.Duration) error {
	q.mu.Lock()
	q.ended = true
	q.changed.Broadcast()
	q.mu.Unlock()
	if err := q.WaitFor(1, since, timeout); err != nil {
		return err
	}
	<-q.done
	return nil
}

// run writes the items until the end.
func (q *Queue[T]) run() {
	defer close(q.done)
	for {
		next, ok := q.next()
		if !ok {
			return
		}
		q.remove(next.size, q.write(next.value))
	}
}

// next waits for an item and leaves it in the queue.
func (q *Queue[T]) next() (next item[T], ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.err == nil && len(q.items) == 0 && !q.ended {
		q.changed.Wait()
	}
	if q.err != nil || len(q.items) == 0 {
		return next, false
	}
	return q.items[0], true
}

// remove takes the written item out of the queue.
func (q *Queue[T]) remove(size int, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err != nil {
		q.fail(err)
	}
	if q.err != nil {
		return
	}
	q.items[0] = item[T]{}
	q.items, q.size, q.moved = q.items[1:], q.size-size, time.Now()
	q.changed.Broadcast()
}
