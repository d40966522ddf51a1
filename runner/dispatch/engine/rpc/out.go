package rpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
)

const (
	// fullAt is the number of bytes that wait for a reader from which on Out is full.
	fullAt = 4 << 20
	// givenUpAt is how many may wait at all.
	givenUpAt = 64 << 20
	// flushTimeout is how long Close waits for a reader that reads nothing.
	flushTimeout = 10 * time.Second
)

var errSlow = errors.New("64 MiB wait for the caller, who does not read")

// Out writes lines in order, each in one write, without making their senders wait. It is safe for concurrent use.
type Out struct {
	to      io.Writer
	timeout time.Duration

	mu      sync.Mutex
	changed *sync.Cond
	queue   [][]byte
	size    int       // bytes of queue
	moved   time.Time // the reader took something, or the queue was empty
	err     error     // why no more is written
	ended   bool
	failed  chan struct{} // closed with err
	done    chan struct{}
}

func newOut(to io.Writer) *Out {
	o := &Out{to: to, timeout: flushTimeout, failed: make(chan struct{}), done: make(chan struct{})}
	o.changed = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// Full reports whether so much waits that what is optional should be dropped.
func (o *Out) Full() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size >= fullAt
}

// Notify queues a notification.
func (o *Out) Notify(method string, params any) { o.put(notification{version, method, params}) }

// put queues a message. What cannot be encoded is a bug.
func (o *Out) put(message any) {
	line, err := encode(message)
	if err != nil {
		o.fail(err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.ended {
		return
	}
	if o.size > 0 && o.size+len(line) > givenUpAt {
		o.failLocked(errSlow)
		return
	}
	if len(o.queue) == 0 {
		o.moved = time.Now()
	}
	o.queue, o.size = append(o.queue, line), o.size+len(line)
	o.changed.Broadcast()
}

// encode makes the line of a message, with its end.
func encode(message any) ([]byte, error) {
	line, err := exactjson.Marshal(message)
	return append(line, '\n'), err
}

// Await waits until Out is not full, and returns an error where it fails or ctx ends before.
func (o *Out) Await(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && ctx.Err() == nil && o.size >= fullAt {
		o.changed.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return o.err
}

func (o *Out) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failLocked(err)
}

// failLocked ends Out. The first error is kept.
func (o *Out) failLocked(err error) {
	if o.err != nil {
		return
	}
	o.err = err
	o.queue, o.size = nil, 0
	close(o.failed)
	o.changed.Broadcast()
}

// close waits until all is written, and returns why it was not.
func (o *Out) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.changed.Broadcast()
	for o.err == nil && len(o.queue) > 0 {
		left := o.timeout - time.Since(o.moved)
		if left <= 0 {
			o.failLocked(errors.New("the caller does not read its answers"))
			break
		}
		timer := time.AfterFunc(left, o.changed.Broadcast)
		o.changed.Wait()
		timer.Stop()
	}
	return o.err
}

// run writes the queue until the end.
func (o *Out) run() {
	defer close(o.done)
	for {
		line, ok := o.next()
		if !ok {
			return
		}
		_, err := o.to.Write(line)
		o.remove(len(line), err)
	}
}

// next waits for a line and leaves it in the queue.
func (o *Out) next() (line []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && len(o.queue) == 0 && !o.ended {
		o.changed.Wait()
	}
	if o.err != nil || len(o.queue) == 0 {
		return nil, false
	}
	return o.queue[0], true
}

// remove takes the written line out of the queue.
func (o *Out) remove(size int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.failLocked(err)
	}
	if o.err != nil {
		return
	}
	o.queue[0] = nil
	o.queue, o.size, o.moved = o.queue[1:], o.size-size, time.Now()
	o.changed.Broadcast()
}
