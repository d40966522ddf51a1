package postgres

import (
	"context"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sys/unix"
)

// Both ends close a connection when the other vanishes without closing it. What then happens between hosts is in
// test/e2e/queue_net_test.go.
func TestConnectionsEndByThemselves(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	c := opened(t, server.tcp("runner", "runner-password", name))
	kept, err := c.Connections(t.Context())
	must(t, err)
	defer kept.Close()
	for what, pool := range map[string]*pgxpool.Pool{"the catalog's": c.pool, "a worker's": kept} {
		conn, err := pool.Acquire(t.Context())
		must(t, err)
		raw, err := conn.Conn().PgConn().Conn().(syscall.Conn).SyscallConn()
		must(t, err)
		for option, want := range map[int]int{
			unix.TCP_USER_TIMEOUT: 20000, unix.TCP_KEEPIDLE: 10, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 2,
		} {
			var got int
			must(t, raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option) }))
			must(t, err)
			if got != want {
				t.Errorf("%s: option %d of tcp(7) is %d, want %d", what, option, got, want)
			}
		}
		conn.Release()
	}
	var idle, timeout string
	must(t, kept.QueryRow(context.Background(), `SELECT current_setting('tcp_keepalives_idle'), current_setting('tcp_user_timeout')`).Scan(&idle, &timeout))
	if idle != "10" || timeout != "20s" && timeout != "20000" {
		t.Errorf("the server has tcp_keepalives_idle %s and tcp_user_timeout %s for a worker", idle, timeout)
	}
}
