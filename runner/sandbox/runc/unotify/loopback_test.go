package unotify

import (
	"net"
	"net/netip"
	"testing"
)

// TestLoopback asks about our own network namespace; to enter a namespace takes root, so it is asked without.
func TestLoopback(t *testing.T) {
	l, err := here()
	must(t, err)
	defer l.Close()
	four, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	defer four.Close()
	six, err := net.Listen("tcp6", "[::]:0")
	must(t, err)
	defer six.Close()
	datagrams, err := net.ListenPacket("udp4", "0.0.0.0:0")
	must(t, err)
	defer datagrams.Close()
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	must(t, closed.Close())
	port := func(a net.Addr) uint16 { return netip.MustParseAddrPort(a.String()).Port() }
	for _, c := range []struct {
		ip   string
		port uint16
		want bool
	}{
		{"127.0.0.1", port(four.Addr()), true},
		{"0.0.0.0", port(four.Addr()), true},
		{"127.0.0.2", port(four.Addr()), false},
		{"::1", port(four.Addr()), false},
		{"::1", port(six.Addr()), true},
		{"::", port(six.Addr()), true},
		{"127.3.3.3", port(datagrams.LocalAddr()), true},
		{"127.0.0.1", port(closed.Addr()), false},
	} {
		if got := l.listens(netip.AddrPortFrom(netip.MustParseAddr(c.ip), c.port)); got != c.want {
			t.Errorf("%s port %d: %v, want %v", c.ip, c.port, got, c.want)
		}
	}
}

func TestUnderstand(t *testing.T) {
	answer := func(kind, errno byte) []byte {
		raw := make([]byte, 20)
		raw[4] = kind
		if errno != 0 {
			raw[16], raw[17], raw[18], raw[19] = -errno, 0xff, 0xff, 0xff
		}
		return raw
	}
	for _, c := range []struct {
		raw    []byte
		found  bool
		failed bool
	}{
		{answer(sockDiagByFamily, 0), true, false},
		{answer(2, 2), false, false}, // ENOENT
		{answer(2, 1), false, true},  // EPERM
		{answer(3, 0), false, true},
		{nil, false, true},
	} {
		found, err := understand(c.raw)
		if found != c.found || (err != nil) != c.failed {
			t.Errorf("%x: %v, %v", c.raw, found, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
