package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

// The timeouts of a server.
const (
	dialMost   = 5 * time.Second
	answerMost = 30 * time.Second
	stallMost  = 30 * time.Second
	// writeMost is for an answer that may come only once the server has written a whole large object: 5 GiB, the most that
	// it copies in one request, at 9 MB/s.
	writeMost = 10 * time.Minute
)

func dial(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{Timeout: dialMost}).DialContext(ctx, network, address)
}

// transport ends stalled connections, and requests without an answer for so long after they were sent. It trusts roots; nil:
// the system's, or those in SSL_CERT_FILE (crypto/x509).
func transport(dial func(ctx context.Context, network, address string) (net.Conn, error), answer time.Duration, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return stallConn{c, answer}, nil
		},
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 2 * dialMost, ResponseHeaderTimeout: answer, ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost: parallel, IdleConnTimeout: answerMost, DisableCompression: true,
	}
}

// stallConn is a connection that fails when a write, or a read while nothing is written, times out.
type stallConn struct {
	net.Conn
	answer time.Duration // stallMost at least
}

func (c stallConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.answer)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write extends the read timeout as well: net/http waits in a read for the answer before it sends the body.
func (c stallConn) Write(p []byte) (int, error) {
	now := time.Now()
	if err := c.SetReadDeadline(now.Add(c.answer)); err != nil {
		return 0, err
	}
	if err := c.SetWriteDeadline(now.Add(stallMost)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
