package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxRequests bounds the requests of a connection that are in progress.
const MaxRequests = 4096

var (
	// ErrCanceled is the cause of a request's context after Cancel.
	ErrCanceled = errors.New("the request was canceled")
	// ErrGone is the cause after the end of the caller's stream.
	ErrGone = errors.New("the caller has gone")
)

// Handler answers a request with a value or an *Error. Any other error is CodeFailed with its text. The next request waits until it
// calls Taken or returns.
type Handler func(ctx context.Context, r Request) (any, error)

// Conn is a connection.
type Conn struct {
	Out    *Out
	lines  *Lines
	handle Handler

	mu    sync.Mutex
	open  map[string]context.CancelCauseFunc // by id: requests in progress
	tasks sync.WaitGroup
}

// NewConn makes a connection. Serve has to follow.
func NewConn(in io.Reader, out io.Writer) *Conn {
	return &Conn{Out: newOut(out), lines: NewLines(in, MaxLine), open: map[string]context.CancelCauseFunc{}}
}

// Serve answers requests until the end of the stream, ctx ends or the caller does not read. Then it cancels those in
// progress, calls gone, and returns when all are answered and written. A pending read is left behind.
func (c *Conn) Serve(ctx context.Context, handle Handler, gone func()) error {
	c.handle = handle
	ctx, cancel := context.WithCancelCause(ctx)
	err := c.read(ctx)
	cancel(ErrGone)
	gone()
	c.tasks.Wait()
	return errors.Join(err, c.Out.close())
}

func isLineError(err error) bool {
	var line LineError
	return errors.As(err, &line)
}

// Refuse writes an error to a caller that is not served, or whose request with that id is not taken; nil: it is not known.
func Refuse(to io.Writer, id json.RawMessage, why *Error) error {
	if id == nil {
		id = []byte("null")
	}
	line, err := encode(response{Version: version, ID: id, Error: why})
	if err == nil {
		_, err = to.Write(line)
	}
	return err
}

// item is a line, or why there is none.
type item struct {
	line []byte
	err  error
}

// read takes lines until the end.
func (c *Conn) read(ctx context.Context) error {
	reading, quit := context.WithCancel(ctx)
	defer quit()
	for items := c.feed(reading); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Out.queue.Failed():
			return nil // close says why
		case next := <-items:
			switch {
			case isLineError(next.err):
				c.answer(nil, nil, Errorf(CodeParse, "%v", next.err))
			case errors.Is(next.err, io.EOF):
				return nil
			case next.err != nil:
				return fmt.Errorf("read requests: %w", next.err)
			default:
				c.take(ctx, next.line)
			}
		}
	}
}

// feed reads the lines while there is room for the answers.
func (c *Conn) feed(ctx context.Context) <-chan item {
	items := make(chan item)
	go func() {
		for {
			if c.Out.Await(ctx) != nil {
				return
			}
			line, err := c.lines.Next()
			select {
			case items <- item{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil && !isLineError(err) {
				return
			}
		}
	}()
	return items
}

// take starts a request.
func (c *Conn) take(ctx context.Context, line []byte) {
	r, bad := parse(line)
	if bad != nil {
		c.answer(r.ID, nil, bad)
		return
	}
	taken, bad := c.begin(ctx, string(r.ID))
	switch {
	case bad == nil:
		c.start(taken, r)
	case bad.Code == CodeBusy:
		c.answer(r.ID, nil, bad)
	default: // an answer with this id would be taken for that of the other
		c.answer(nil, nil, bad)
	}
}

// begin notes a request in progress, and returns its context.
func (c *Conn) begin(ctx context.Context, id string) (context.Context, *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.open[id]; twice {
		return nil, Errorf(CodeInvalidRequest, "id %s is that of a request in progress; give each an id of its own", id)
	}
	if len(c.open) >= MaxRequests {
		return nil, Errorf(CodeBusy, "%d requests are in progress; wait for the answer to one", MaxRequests)
	}
	ctx, c.open[id] = context.WithCancelCause(ctx)
	return ctx, nil
}

// start answers a request in a goroutine, and returns when the next may start.
func (c *Conn) start(ctx context.Context, r Request) {
	next := make(chan struct{})
	r.taken = sync.OnceFunc(func() { close(next) })
	c.tasks.Go(func() {
		defer r.Taken()
		c.perform(ctx, r)
	})
	select {
	case <-next:
	case <-ctx.Done():
	}
}

// perform answers a request. Its id is free again before the answer is written.
func (c *Conn) perform(ctx context.Context, r Request) {
	value, err := c.call(ctx, r)
	c.mu.Lock()
	cancel := c.open[string(r.ID)]
	delete(c.open, string(r.ID))
	c.mu.Unlock()
	cancel(nil)
	c.answer(r.ID, value, err)
}

// call catches a bug in a handler, which ends no other request.
func (c *Conn) call(ctx context.Context, r Request) (value any, err error) {
	defer func() {
		if what := recover(); what != nil {
			err = Errorf(CodeInternal, "internal error: %v; this is a bug, please report it", what)
		}
	}()
	return c.handle(ctx, r)
}

func (c *Conn) answer(id []byte, value any, err error) {
	if id == nil {
		id = []byte("null")
	}
	var known *Error
	switch {
	case errors.As(err, &known):
	case errors.Is(err, ErrCanceled), errors.Is(err, ErrGone), errors.Is(err, context.Canceled):
		known = Errorf(CodeCanceled, "%v", err)
	case err != nil:
		known = Errorf(CodeFailed, "%v", err)
	}
	c.Out.put(response{Version: version, ID: id, Result: value, Error: known})
}

// Cancel cancels a request in progress by its id, and reports whether there is one.
func (c *Conn) Cancel(id []byte) bool {
	c.mu.Lock()
	cancel, ok := c.open[string(id)]
	c.mu.Unlock()
	if ok {
		cancel(ErrCanceled)
	}
	return ok
}
