package postgres

import (
	"context"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// The timeouts of a connection whose other end vanished: a dead host, a cable, a firewall that dropped its state. The
// kernel's own are a quarter of an hour for unacknowledged data (net.ipv4.tcp_retries2), and two hours for an awaited
// answer. A slow server acknowledges, and is waited for.
const (
	unacknowledged = 20 * time.Second // TCP_USER_TIMEOUT, tcp(7)
	probeAfter     = 10 * time.Second
	probeEvery     = 5 * time.Second
	probes         = 2
)

// dialer makes connections that end when the other end vanishes. timeout bounds connecting.
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
