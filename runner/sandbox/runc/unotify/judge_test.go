package unotify

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// scene is what a process has around it.
type scene struct {
	kind  string // of its socket
	ports []uint16
	names []string
	paths map[string]pathClass
}

func (s scene) protocol() string               { return s.kind }
func (s scene) listens(at netip.AddrPort) bool { return slices.Contains(s.ports, at.Port()) }
func (s scene) named(name []byte) bool         { return slices.Contains(s.names, string(name)) }
func (s scene) absolute(path string) string    { return process{pid: 1 << 30}.absolute(path) }
func (s scene) locate(path string) pathClass   { return s.paths[path] }

func TestJudge(t *testing.T) {
	inet := func(s string) address { return address{inet: netip.MustParseAddrPort(s)} }
	path := func(s string) address { return address{unix: []byte(s)} }
	connect := func(address string, severity audit.Severity) attempt {
		return attempt{kind: audit.Connect, address: address, severity: severity}
	}
	tcp, udp, raw := scene{kind: "tcp"}, scene{kind: "udp"}, scene{kind: "ip"}
	serving := scene{kind: "tcp", ports: []uint16{5432, 8080}}
	local := scene{kind: "unix", names: []string{"mine"}, paths: map[string]pathClass{
		"/run/postgresql/.s.PGSQL.5432": nowhere, "/data/s": walled, "/tmp/../data/s": walled, "/usr/lib/s": bare, "/usr/x/.s.PGSQL.1": bare,
		"/tmp/.s.PGSQL.5432": missing, "/tmp/.s.PGSQL.1": own, "/tmp/s": missing,
		"/run/nscd/socket": nowhere, "/run/uuidd/request": nowhere, "/dev/log": nowhere, "/opt/dev/log": nowhere,
	}}
	var nothing attempt
	for _, c := range []struct {
		address address
		send    bool
		scene   scene
		want    attempt
	}{
		{inet("192.0.2.1:80"), false, tcp, connect("tcp 192.0.2.1:80", audit.Medium)},
		{inet("192.0.2.1:5432"), false, tcp, connect("tcp 192.0.2.1:5432", audit.High)},
		{inet("192.0.2.1:8080"), false, serving, connect("tcp 192.0.2.1:8080", audit.Medium)}, // served on loopback, and not there
		{inet("[2001:db8::1]:53"), false, udp, connect("udp [2001:db8::1]:53", audit.Medium)},
		{inet("192.0.2.1:1"), true, raw, connect("ip 192.0.2.1:1", audit.Medium)},
		{inet("192.0.2.1:0"), false, udp, nothing},
		{inet("192.0.2.1:80"), false, scene{}, nothing},
		{inet("192.0.2.1:80"), false, local, nothing}, // no such address for a unix socket
		{inet("127.0.0.1:5432"), false, tcp, connect("tcp 127.0.0.1:5432", audit.High)},
		{inet("127.9.9.9:5432"), false, tcp, connect("tcp 127.9.9.9:5432", audit.High)},
		{inet("0.0.0.0:5432"), false, tcp, connect("tcp 0.0.0.0:5432", audit.High)},
		{inet("[::1]:80"), false, tcp, connect("tcp [::1]:80", audit.Medium)},
		{inet("127.0.0.1:5432"), false, serving, nothing},
		{inet("[::1]:8080"), false, serving, nothing},
		{inet("127.0.0.1:53"), false, udp, connect("udp 127.0.0.1:53", audit.Medium)},
		{inet("127.0.0.1:80"), false, udp, nothing}, // asks for a route
		{inet("0.0.0.0:5432"), false, udp, nothing},
		{inet("127.0.0.1:80"), true, udp, connect("udp 127.0.0.1:80", audit.Medium)},

		{path("\x00mine"), false, local, nothing},
		{path("\x00host"), false, local, connect("unix @host", audit.Medium)},
		{path("\x00"), false, local, connect("unix @", audit.Medium)},
		{path("\x00/tmp/.s.PGSQL.5432"), false, local, connect("unix @/tmp/.s.PGSQL.5432", audit.High)},
		{path("\x00host"), false, tcp, nothing},
		{path("/run/postgresql/.s.PGSQL.5432"), false, local, connect("unix /run/postgresql/.s.PGSQL.5432", audit.High)},
		{path("/data/s"), false, local, connect("unix /data/s", audit.Medium)},
		{path("/tmp/../data/s"), true, local, connect("unix /data/s", audit.Medium)},
		{path("/usr/lib/s"), false, local, attempt{audit.Connect, "unix /usr/lib/s", audit.High, true}},
		{path("/usr/x/.s.PGSQL.1"), false, local, attempt{audit.Connect, "unix /usr/x/.s.PGSQL.1", audit.High, true}},
		{path("/tmp/s"), false, local, nothing},
		{path("/tmp/.s.PGSQL.5432"), false, local, connect("unix /tmp/.s.PGSQL.5432", audit.High)}, // upstream's default directory
		{path("/tmp/.s.PGSQL.1"), false, local, nothing},
		{path("/run/nscd/socket"), false, local, nothing},
		{path("/run/uuidd/request"), false, local, nothing},
		{path("/dev/log"), false, local, nothing},
		{path("/opt/dev/log"), false, local, connect("unix /opt/dev/log", audit.Medium)},
	} {
		if got := judge(c.address, c.send, c.scene); got != c.want {
			t.Errorf("%v %q: %+v; want %+v", c.address.inet, c.address.unix, got, c.want)
		}
	}
}

func TestJudgeFamily(t *testing.T) {
	for domain, want := range map[uint64]attempt{
		unix.AF_NETLINK:    {audit.Socket, "AF_NETLINK", audit.Low, false},
		unix.AF_VSOCK:      {audit.Socket, "AF_VSOCK", audit.Medium, false},
		1<<32 | 40:         {audit.Socket, "AF_VSOCK", audit.Medium, false},
		99:                 {audit.Socket, "AF_99", audit.Medium, false},
		0xffffffffffffffff: {audit.Socket, "AF_-1", audit.Medium, false},
	} {
		if got := judgeFamily(domain); got != want {
			t.Errorf("%x: %+v; want %+v", domain, got, want)
		}
	}
}
