package proxy

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// budget is a number of bytes that is left.
type budget struct{ left atomic.Int64 }

// take reports whether n are left, which are taken then.
func (b *budget) take(n int) bool {
	if b.left.Add(-int64(n)) >= 0 {
		return true
	}
	b.left.Add(int64(n))
	return false
}

var (
	errUpload   = &refusal{413, "the analysis has sent as much as it may; raise --allow-upload"}
	errDownload = errors.New("the analysis has received as much as it may")
)

// metered is a connection to a server. It counts and bounds what goes each way, and ends if the server is silent for long.
type metered struct {
	net.Conn
	up, down       *budget
	sent, received atomic.Int64
}

func (m *metered) Write(p []byte) (int, error) {
	if !m.up.take(len(p)) {
		return 0, errUpload
	}
	_ = m.SetDeadline(time.Now().Add(idleTimeout))
	n, err := m.Conn.Write(p)
	m.sent.Add(int64(n))
	return n, err
}

func (m *metered) Read(p []byte) (int, error) {
	_ = m.SetDeadline(time.Now().Add(idleTimeout))
	n, err := m.Conn.Read(p)
	m.received.Add(int64(n))
	if !m.down.take(n) {
		return 0, errDownload
	}
	return n, err
}

// CloseWrite ends one direction, if the connection has two.
func (m *metered) CloseWrite() error { return closeWrite(m.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
