package rpc

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
	"github.com/scidex-ai/scidex-oci/internal/sendqueue"
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
type Out struct{ queue *sendqueue.Queue[[]byte] }

func newOut(to io.Writer) *Out {
	return &Out{sendqueue.New(func(line []byte) error {
		_, err := to.Write(line)
		return err
	})}
}

// Full reports whether so much waits that what is optional should be dropped.
func (o *Out) Full() bool { return o.queue.Size() >= fullAt }

// Await waits until Out is not full, and returns an error if it fails or ctx ends before.
func (o *Out) Await(ctx context.Context) error { return o.queue.Wait(ctx, fullAt) }

// Notify queues a notification.
func (o *Out) Notify(method string, params any) { o.put(notification{version, method, params}) }

// put queues a message. What cannot be encoded is a bug.
func (o *Out) put(message any) {
	line, err := encode(message)
	if size := o.queue.Size(); err == nil && size > 0 && size+len(line) > givenUpAt {
		err = errSlow
	}
	if err != nil {
		o.queue.Fail(err)
		return
	}
	_ = o.queue.Put(line, len(line)) // close says why not
}

// encode makes the line of a message, with its end.
func encode(message any) ([]byte, error) {
	line, err := exactjson.Marshal(message)
	return append(line, '\n'), err
}

// close waits until all is written, and returns why it was not.
func (o *Out) close() error {
	err := o.queue.Close(time.Time{}, flushTimeout)
	if errors.Is(err, sendqueue.ErrStuck) {
		err = errors.New("the caller does not read its answers")
	}
	return err
}
