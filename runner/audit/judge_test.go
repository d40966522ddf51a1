package audit

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// scene is what a process has around it.
type scene struct {
	kind  string // of its socket
	ports []uint16
	names []string
	paths []string
}

func (s scene) protocol() (string, bool)       { return s.kind, s.kind == "tcp" }
func (s scene) listens(at netip.AddrPort) bool { return contains(s.ports, at.Port()) }
func (s scene) named(name []byte) bool         { return contains(s.names, string(name)) }
func (s scene) exists(path string) bool        { return contains(s.paths, path) }
func (s scene) absolute(path string) string    { return process{pid: 1 << 30}.absolute(path) }

func contains[T comparable](list []T, one T) bool {
	for _, other := range list {
		if other == one {
			return true
		}
	}
	return false
}

func TestJudgeAddress(t *testing.T) {
	inet := func(s string) address { return address{inet: netip.MustParseAddrPort(s)} }
	path := func(s string) address { return address{unix: []byte(s)} }
	tcp, udp := scene{kind: "tcp"}, scene{kind: "udp"}
	serving := scene{kind: "tcp", ports: []uint16{5432, 8080}, names: []string{"mine"}, paths: []string{"/data/s", "/dev/log"}}
	for _, c := range []struct {
		address address
		scene   scene
		want    answer
	}{
		{inet("192.0.2.1:80"), tcp, answer{unix.ENETUNREACH, Connect, "tcp 192.0.2.1:80", Medium}},
		{inet("192.0.2.1:5432"), tcp, answer{unix.ENETUNREACH, Connect, "tcp 192.0.2.1:5432", High}},
		{inet("192.0.2.1:8080"), serving, answer{unix.ENETUNREACH, Connect, "tcp 192.0.2.1:8080", Medium}},
		{inet("[2001:db8::1]:53"), udp, answer{unix.ENETUNREACH, Connect, "udp [2001:db8::1]:53", Medium}},
		{inet("192.0.2.1:0"), udp, goOn},
		{inet("127.0.0.1:5432"), tcp, answer{unix.ECONNREFUSED, Connect, "tcp 127.0.0.1:5432", High}},
		{inet("127.9.9.9:5432"), tcp, answer{unix.ECONNREFUSED, Connect, "tcp 127.9.9.9:5432", High}},
		{inet("0.0.0.0:5432"), tcp, answer{unix.ECONNREFUSED, Connect, "tcp 0.0.0.0:5432", High}},
		{inet("[::1]:80"), tcp, answer{unix.ECONNREFUSED, Connect, "tcp [::1]:80", Medium}},
		{inet("127.0.0.1:53"), udp, answer{0, Connect, "udp 127.0.0.1:53", Medium}},
		{inet("127.0.0.1:5432"), serving, goOn},
		{inet("[::1]:8080"), serving, goOn},
		{path("\x00mine"), serving, goOn},
		{path("\x00host"), serving, answer{unix.ECONNREFUSED, Connect, "unix @host", Medium}},
		{path("\x00"), serving, answer{unix.ECONNREFUSED, Connect, "unix @", Medium}},
		{path("/run/postgresql/.s.PGSQL.5432"), tcp, answer{unix.ENOENT, Connect, "unix /run/postgresql/.s.PGSQL.5432", High}},
		{path("/data/s"), serving, answer{unix.ECONNREFUSED, Connect, "unix /data/s", Medium}},
		{path("/tmp/../data/s"), serving, answer{unix.ECONNREFUSED, Connect, "unix /data/s", Medium}},
		{path("/work/s"), tcp, goOn},
		{path("/tmp/.s.PGSQL.5432"), tcp, goOn}, // its own server's, or nobody's
		{path("/workshop/s"), tcp, answer{unix.ENOENT, Connect, "unix /workshop/s", Medium}},
		{path("/run/nscd/socket"), tcp, answer{errno: unix.ENOENT, address: "unix /run/nscd/socket", severity: Medium}},
		{path("/run/uuidd/request"), tcp, answer{errno: unix.ENOENT, address: "unix /run/uuidd/request", severity: Medium}},
		{path("/dev/log"), serving, answer{errno: unix.ECONNREFUSED, address: "unix /dev/log", severity: Medium}},
	} {
		if got := judgeAddress(c.address, c.scene); got != c.want {
			t.Errorf("%v %q: %+v; want %+v", c.address.inet, c.address.unix, got, c.want)
		}
	}
}

func TestJudgeFamily(t *testing.T) {
	for domain, want := range map[uint64]answer{
		unix.AF_NETLINK:    {unix.EAFNOSUPPORT, Socket, "AF_NETLINK", Low},
		unix.AF_VSOCK:      {unix.EAFNOSUPPORT, Socket, "AF_VSOCK", Medium},
		1<<32 | 40:         {unix.EAFNOSUPPORT, Socket, "AF_VSOCK", Medium},
		99:                 {unix.EAFNOSUPPORT, Socket, "AF_99", Medium},
		0xffffffffffffffff: {unix.EAFNOSUPPORT, Socket, "AF_-1", Medium},
	} {
		if got := judgeFamily(domain); got != want {
			t.Errorf("%x: %+v; want %+v", domain, got, want)
		}
	}
}
