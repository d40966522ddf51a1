package proxy

import (
	"net"
	"sync"
)

// live are the exchanges that have not ended.
type live struct {
	mu    sync.Mutex
	all   map[*exchange]bool
	ended bool
	wait  sync.WaitGroup
}

// add reports false if no more are taken.
func (l *live) add(x *exchange) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	if l.all == nil {
		l.all = map[*exchange]bool{}
	}
	l.all[x] = true
	l.wait.Add(1)
	return true
}

// connected gives the exchange its connection, unless all are ended.
func (l *live) connected(x *exchange, to *metered) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		x.upstream = to
	}
	return !l.ended
}

// hijacked notes the client's connection of a tunnel, which its server knows no more.
func (l *live) hijacked(x *exchange, client net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	x.client = client
	return !l.ended
}

func (l *live) remove(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, x)
	l.wait.Done()
}

// end closes the connections to servers, and waits until their exchanges have ended.
func (l *live) end() {
	l.mu.Lock()
	l.ended = true
	for x := range l.all {
		if x.upstream != nil {
			_ = x.upstream.Close()
		}
		if x.client != nil {
			_ = x.client.Close()
		}
	}
	l.mu.Unlock()
	l.wait.Wait()
}
