package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

const (
	smallBytes = 64 << 10  // a file up to this size goes through the queue whole
	queueBytes = 256 << 10 // contents in one batch
	queueFiles = 256       // entries in one batch
	batches    = 3         // one fills, one waits, one is yielded
)

// queue yields entries in order, on a separate goroutine that hashes small files while the walk spends its time in system
// calls.
type queue struct {
	yield      func(Entry) error
	now        *batch
	free, full chan *batch
	failed     chan error // the first error of yield, or of the context
}

// batch is the unit of handover, so that the goroutines do not wake each other for every file.
type batch struct {
	contents []byte
	queued   []queued
}

// queued is an entry; size bytes of its batch are its contents, if it has no digest yet.
type queued struct {
	entry Entry
	size  int
}

func newQueue(ctx context.Context, yield func(Entry) error) *queue {
	q := &queue{yield: yield, free: make(chan *batch, batches), full: make(chan *batch, batches), failed: make(chan error, 1)}
	for range batches {
		q.free <- new(batch)
	}
	q.now = <-q.free
	go q.pass(ctx)
	return q
}

// buffer returns a buffer for the contents of a small file and one byte more, for the next add.
func (q *queue) buffer(size int64) ([]byte, error) {
	if len(q.now.contents)+int(size) >= queueBytes {
		if err := q.hand(); err != nil {
			return nil, err
		}
	}
	q.now.contents = slices.Grow(q.now.contents, int(size)+1) // most runs have few files and need no more
	return q.now.contents[len(q.now.contents):cap(q.now.contents)], nil
}

// add queues an entry. One without a digest has its contents in the first bytes of the last buffer.
func (q *queue) add(e Entry, contents []byte) error {
	q.now.contents = q.now.contents[:len(q.now.contents)+len(contents)]
	q.now.queued = append(q.now.queued, queued{e, len(contents)})
	if len(q.now.queued) < queueFiles {
		return nil
	}
	return q.hand()
}

// hand gives the batch to the other goroutine and returns its error.
func (q *queue) hand() error {
	q.full <- q.now
	q.now = <-q.free
	select {
	case err := <-q.failed:
		return err
	default:
		return nil
	}
}

// end yields the rest, waits for the other goroutine and returns its error.
func (q *queue) end() error {
	q.full <- q.now
	close(q.full)
	return <-q.failed
}

func (q *queue) pass(ctx context.Context) {
	defer close(q.failed)
	var failed error
	for b := range q.full {
		contents := b.contents
		for _, next := range b.queued {
			if failed != nil {
				break
			}
			if failed = ctx.Err(); failed == nil {
				failed = q.yield(next.complete(contents[:next.size]))
			}
			if failed != nil {
				q.failed <- failed
			}
			contents = contents[next.size:]
		}
		b.contents, b.queued = b.contents[:0], b.queued[:0]
		q.free <- b
	}
}

// complete returns the entry with digest and media type.
func (n queued) complete(contents []byte) Entry {
	e := n.entry
	if e.Rejected != "" || e.SHA256 != "" {
		return e
	}
	sum := sha256.Sum256(contents)
	e.SHA256 = hex.EncodeToString(sum[:])
	e.MediaType = mediaType(e.Path, contents[:min(len(contents), headBytes)])
	return e
}
