package postgres

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// How soon a connection is given up whose other end is gone without a word: a host that died, a cable, a firewall that forgot. The
// kernel's own times would be a quarter of an hour for what was sent and not acknowledged (net.ipv4.tcp_retries2), and two
// hours where an answer is awaited. A server that is only slow acknowledges, and is waited for.
const (
	unacknowledged = 20 * time.Second // TCP_USER_TIMEOUT, tcp(7)
	probeAfter     = 10 * time.Second
	probeEvery     = 5 * time.Second
	probes         = 2
)

// dialer makes connections that end by themselves when the other end is gone. timeout bounds the making of one.
func dialer(timeout time.Duration) pgconn.DialFunc {
	d := &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: probeAfter, Interval: probeEvery, Count: probes},
		ControlContext: func(_ context.Context, network, _ string, c syscall.RawConn) (err error) {
			if network == "unix" {
				return nil
			}
			failed := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unacknowledged.Milliseconds()))
			})
			if failed != nil {
				return failed
			}
			return err
		},
	}
	return d.DialContext
}
