package postgres

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"strconv"
	"sync"
	"testing"
)

// proxy is between a handle and the server and does to a COMMIT what a bad network does.
type proxy struct {
	net.Listener
	server string

	mu    sync.Mutex
	fault fault
	then  func() // called when the fault happens
	seen  int    // connections
}

// fault is what happens to the next COMMIT; it happens once.
type fault int

const (
	none      fault = iota
	dropReply       // the server commits and the client gets no reply
	dropAsk         // the server does not receive it
	hangUp          // as dropReply, but the connection ends before the server has answered
)

// commitMessage is what the driver sends (PostgreSQL, "Message Formats", Query).
var commitMessage = []byte("Q\x00\x00\x00\x0bcommit\x00")

func newProxy(t *testing.T, c *cluster) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{Listener: l, server: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port))}
	t.Cleanup(func() { _ = l.Close() })
	go p.serve()
	return p
}

// url is a database through the proxy.
func (p *proxy) url(t *testing.T, direct string) string {
	t.Helper()
	u, err := url.Parse(direct)
	must(t, err)
	u.Host = p.Addr().String()
	u.RawQuery = "sslmode=disable"
	return u.String()
}

func (p *proxy) next(f fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = f
}

// during is next with something that happens at that moment.
func (p *proxy) during(f fault, then func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.then = f, then
}

func (p *proxy) take() fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, then := p.fault, p.then
	p.fault, p.then = none, nil
	if then != nil {
		then()
	}
	return f
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		go p.pass(client)
	}
}

func (p *proxy) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.seen++
	p.mu.Unlock()
	replies := &gate{to: client}
	go func() {
		_, _ = io.Copy(replies, server)
		_ = client.Close()
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if !bytes.Equal(buffer[:n], commitMessage) {
			if _, err := server.Write(buffer[:n]); err != nil {
				return
			}
			continue
		}
		switch p.take() {
		case none:
			_, err = server.Write(buffer[:n])
		case dropReply:
			answered := replies.shut()
			_, _ = server.Write(buffer[:n])
			<-answered
			return
		case hangUp:
			replies.shut()
			_, _ = server.Write(buffer[:n])
			return
		case dropAsk:
			return
		}
		if err != nil {
			return
		}
	}
}

// gate passes data on until it is shut, and then reports when something arrives.
type gate struct {
	to   io.Writer
	mu   sync.Mutex
	came chan struct{}
	once sync.Once
}

func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.came == nil {
		return g.to.Write(b)
	}
	g.once.Do(func() { close(g.came) })
	return len(b), nil
}

func (g *gate) shut() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.came = make(chan struct{})
	return g.came
}
