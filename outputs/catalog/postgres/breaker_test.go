package postgres

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// Who sends a message.
const (
	fromClient = "client"
	fromServer = "server"
)

// breaker is a proxy between a handle and the server. Once it is armed, it closes the connections instead of passing on
// the nth message of one side: the message before it has arrived, and this one has not.
type breaker struct {
	net.Listener
	server string

	mu     sync.Mutex
	side   string // empty if it is not armed
	left   int    // messages of the side that still come through
	broken bool
	good   bool // "for good": no connection is taken any more
	open   map[net.Conn]bool
}

func newBreaker(t *testing.T, c *cluster) *breaker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	b := &breaker{Listener: l, server: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), open: map[net.Conn]bool{}}
	t.Cleanup(func() { _ = l.Close() })
	go b.serve()
	return b
}

// url is a database through the breaker.
func (b *breaker) url(t *testing.T, direct string) string {
	t.Helper()
	u, err := url.Parse(direct)
	must(t, err)
	u.Host = b.Addr().String()
	u.RawQuery = "sslmode=disable"
	return u.String()
}

// arm breaks at the nth message from now on.
func (b *breaker) arm(side string, nth int, forGood bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.side, b.left, b.broken, b.good = side, nth-1, false, forGood
}

// disarm lets everything pass again and reports whether there was an nth message.
func (b *breaker) disarm() (broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.side = ""
	return b.broken
}

// lets reports whether a message may pass, and closes all connections if it may not.
func (b *breaker) lets(side string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.side == "" || b.broken && !b.good:
		return true
	case b.broken:
		return false
	case b.side != side:
		return true
	case b.left > 0:
		b.left--
		return true
	}
	b.broken = true
	for conn := range b.open {
		_ = conn.Close()
	}
	return false
}

func (b *breaker) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.side != "" && b.broken && b.good
}

func (b *breaker) serve() {
	for {
		client, err := b.Accept()
		if err != nil {
			return
		}
		if b.down() {
			_ = client.Close()
			continue
		}
		go b.join(client)
	}
}

// join passes messages both ways until one side closes its connection.
func (b *breaker) join(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", b.server)
	if err != nil {
		return
	}
	defer server.Close()
	b.mu.Lock()
	b.open[client], b.open[server] = true, true
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, client)
		delete(b.open, server)
	}()
	go func() {
		b.pass(server, client, fromServer, true)
		_ = client.Close()
	}()
	b.pass(client, server, fromClient, false)
}

// pass passes whole messages: a type, but for the first of a client, then a length that counts itself
// (PostgreSQL, "Message Formats").
func (b *breaker) pass(from io.Reader, to io.Writer, side string, typed bool) {
	for {
		head := make([]byte, 5)
		if !typed {
			head = head[1:]
		}
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		length := head[len(head)-4:]
		message := append(head, make([]byte, binary.BigEndian.Uint32(length)-4)...)
		if _, err := io.ReadFull(from, message[len(head):]); err != nil {
			return
		}
		if !b.lets(side) {
			return
		}
		if _, err := to.Write(message); err != nil {
			return
		}
		typed = true
	}
}
