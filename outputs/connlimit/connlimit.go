// Package connlimit bounds the connections of a server so that clients who have not shown who they are do not keep out those who have.
// A connection is a stranger's until Keep is called for it. Strangers share a few places: one more ends the connection that has been
// a stranger's for longest, so that a new client is never made to wait for silent ones. A stranger's connection also ends after some
// time, whatever it sends.
package connlimit

import (
	"container/list"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// Limits are those of a listener.
type Limits struct {
	// Strangers and Kept are how many connections there are at once of each kind.
	Strangers, Kept int
	// Patience is how long a connection may be a stranger's.
	Patience time.Duration
}

// listener is a net.Listener whose connections are bounded.
type listener struct {
	net.Listener
	limits Limits

	mu        sync.Mutex
	strangers *list.List // of *conn, the oldest first
	kept      int
}

// newListener bounds the connections of a listener. The server needs connContext.
func newListener(l net.Listener, limits Limits) *listener {
	return &listener{Listener: l, limits: limits, strangers: list.New()}
}

// Serve serves a listener within limits until ctx ends, and gives the answers in progress as much time as last then. It closes the
// listener, and leaves nothing running. The error is nil if it was ctx that ended it.
func Serve(ctx context.Context, l net.Listener, server *http.Server, limits Limits, last time.Duration) error {
	server.ConnContext = connContext
	served := make(chan error, 1)
	go func() { served <- server.Serve(newListener(l, limits)) }()
	select {
	case err := <-served:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), last)
	defer cancel()
	err := server.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // ends the contexts of requests, too
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// conn is one connection.
type conn struct {
	net.Conn
	from  *listener
	place *list.Element // among strangers; nil: it is kept or closed
	kept  bool
	late  *time.Timer
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, from: l}
	if oldest := l.add(c); oldest != nil {
		_ = oldest.Close() // its error does not matter
	}
	return c, nil
}

// add makes a connection a stranger's, and returns the one whose place it takes.
func (l *listener) add(c *conn) (oldest *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if front := l.strangers.Front(); front != nil && l.strangers.Len() >= l.limits.Strangers {
		oldest = l.leave(front)
	}
	l.enter(c)
	return oldest
}

// enter puts a connection among the strangers.
func (l *listener) enter(c *conn) {
	c.place = l.strangers.PushBack(c)
	place := c.place
	c.late = time.AfterFunc(l.limits.Patience, func() {
		l.mu.Lock()
		late := c.place == place
		l.mu.Unlock()
		if late {
			_ = c.Close()
		}
	})
}

// leave takes a connection from among the strangers.
func (l *listener) leave(place *list.Element) *conn {
	c, _ := l.strangers.Remove(place).(*conn)
	c.place = nil
	c.late.Stop()
	return c
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.from.mu.Lock()
	if c.place != nil {
		c.from.leave(c.place)
	}
	if c.kept {
		c.kept = false
		c.from.kept--
	}
	c.from.mu.Unlock()
	return c.Conn.Close()
}

// key is that of a connection in a context.
type key struct{}

// connContext is that of an http.Server.
func connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// Keep notes that the client of a request's connection has shown who it is. It reports false if that many are kept
// already, or if the connection has just lost its place.
func Keep(r *http.Request) bool {
	c, ok := r.Context().Value(key{}).(*conn)
	if !ok {
		return true // of another listener, as in tests
	}
	l := c.from
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.kept {
		return true
	}
	if c.place == nil || l.kept >= l.limits.Kept {
		return false
	}
	l.leave(c.place)
	c.kept = true
	l.kept++
	return true
}

// Release makes the connection of a request a stranger's again, for a server that knows nobody: while it answers it keeps a connection.
func Release(r *http.Request) {
	c, ok := r.Context().Value(key{}).(*conn)
	if !ok {
		return
	}
	c.from.mu.Lock()
	defer c.from.mu.Unlock()
	if c.kept {
		c.kept = false
		c.from.kept--
		c.from.enter(c)
	}
}
