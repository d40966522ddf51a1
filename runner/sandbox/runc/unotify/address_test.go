package unotify

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// sockaddr is a family in the machine's order and what follows it.
func sockaddr(family uint16, rest ...byte) []byte {
	return append(binary.NativeEndian.AppendUint16(nil, family), rest...)
}

func TestParseAddress(t *testing.T) {
	v4 := sockaddr(unix.AF_INET, 0x15, 0x38, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	mapped := sockaddr(unix.AF_INET6, append([]byte{0, 80, 0, 0, 0, 0}, append(make([]byte, 10), 0xff, 0xff, 10, 0, 0, 1)...)...)
	for _, c := range []struct {
		raw  []byte
		inet string
		unix []byte
	}{
		{v4, "127.0.0.1:5432", nil},
		{append(bytes.Clone(v4), 1, 2, 3), "127.0.0.1:5432", nil},
		{v4[:15], "", nil},
		{mapped, "10.0.0.1:80", nil}, // an IPv4 address in an IPv6 one is that address
		{mapped[:23], "", nil},
		{sockaddr(unix.AF_UNIX, []byte("/a\x00rest")...), "", []byte("/a")},
		{sockaddr(unix.AF_UNIX, []byte("/a")...), "", []byte("/a")},
		{sockaddr(unix.AF_UNIX, []byte("\x00a\x00b")...), "", []byte("\x00a\x00b")},
		{sockaddr(unix.AF_UNIX, 0), "", []byte{0}},
		{sockaddr(unix.AF_UNIX), "", nil},
		{sockaddr(unix.AF_NETLINK, v4...), "", nil},
		{sockaddr(unix.AF_UNSPEC, v4...), "", nil},
		{sockaddr(unix.AF_UNIX, bytes.Repeat([]byte("a"), 108)...), "", bytes.Repeat([]byte("a"), 108)}, // no NUL
		{sockaddr(unix.AF_UNIX, bytes.Repeat([]byte("a"), 109)...), "", nil},
		{[]byte{2}, "", nil},
		{nil, "", nil},
	} {
		a, ok := parseAddress(c.raw, false)
		want := c.inet != "" || c.unix != nil
		if ok != want || ok && c.inet != "" && a.inet.String() != c.inet || !bytes.Equal(a.unix, c.unix) {
			t.Errorf("%x: %v %q %v; want %q %q", c.raw, a.inet, a.unix, ok, c.inet, c.unix)
		}
	}
}

// TestParseDestination: a datagram may leave its family out (net/ipv4/udp.c).
func TestParseDestination(t *testing.T) {
	raw := sockaddr(unix.AF_UNSPEC, 0, 53, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0)
	if a, ok := parseAddress(raw, true); !ok || a.inet.String() != "192.0.2.1:53" {
		t.Errorf("%v, %v", a.inet, ok)
	}
}

func FuzzParseAddress(f *testing.F) {
	f.Add(sockaddr(unix.AF_INET, make([]byte, 14)...), true)
	f.Add(sockaddr(unix.AF_INET6, make([]byte, 26)...), true)
	f.Add(sockaddr(unix.AF_UNIX, []byte("/run/x")...), true)
	f.Fuzz(func(t *testing.T, raw []byte, send bool) {
		a, ok := parseAddress(raw, send)
		if ok == (a.inet.IsValid() == (len(a.unix) > 0)) {
			t.Errorf("%x: %v %q %v: want exactly one kind where it is ok", raw, a.inet, a.unix, ok)
		}
		if ok {
			judge(a, send, scene{}) // takes everything that parses
		}
	})
}
