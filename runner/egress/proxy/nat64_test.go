package proxy

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestNAT64: an address that the network translates to one that no analysis may reach is refused, one of a public host is not; the prefixes
// are looked up once, and no IPv6 is taken as long as that fails.
func TestNAT64(t *testing.T) {
	looked := 0
	answer := func() ([]netip.Addr, error) { return nil, errors.New("server misbehaving") }
	n := &nat64{resolve: func() ([]netip.Addr, error) {
		looked++
		return answer()
	}}
	check := func(at, want string) {
		t.Helper()
		got := n.refused(netip.MustParseAddr(at), notPublic)
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
	check(home, "")
	check("10.0.0.1", "private")
	if looked > 0 {
		t.Error("it looks for NAT64 without an IPv6 address")
	}
	check("2600:64::8.8.8.8", "server misbehaving")
	answer = func() ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("2600:64::192.0.0.170"), netip.MustParseAddr("2600:64::192.0.0.171")}, nil
	}
	for at, want := range map[string]string{
		"2600:64::8.8.8.8": "", "2600:64::10.0.0.1": "NAT64 of 10.0.0.1, private", "2600:64::169.254.169.254": "link-local", "2600:64::127.0.0.1": "loopback",
		"2606:4700::10.0.0.1": "", "fd00::1": "not of the public Internet",
	} {
		check(at, want)
	}
	if looked != 2 {
		t.Errorf("%d look-ups", looked)
	}
	n = &nat64{resolve: func() ([]netip.Addr, error) {
		return nil, &net.DNSError{Err: "no such host", IsNotFound: true}
	}}
	check("2600:64::10.0.0.1", "")
}
