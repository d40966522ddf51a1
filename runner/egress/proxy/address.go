package proxy

import "net/netip"

// reserved are ranges that are not public, or that embed addresses which may not be, by the IANA special-purpose registries and cloud
// providers' own addresses.
var reserved = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared by a provider's customers"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's own service"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, where clouds have their metadata"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64"},
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols (Teredo, ORCHID)"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
}

// publicIPv6 is the part of IPv6 that is assigned to the Internet: the rest is loopback, IPv4 in IPv6, private (fc00::/7), link-local,
// site-local, multicast or unassigned.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// notPublic says why no request goes to an address, which may mean this host, its networks, or a way around that; "" if it is one of
// the public Internet. An IPv4 address in IPv6 is refused: no resolver gives one.
func notPublic(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "no address"
	case a.Zone() != "":
		return "of one interface"
	case a.Is4In6():
		return "IPv4 in IPv6"
	}
	for _, r := range reserved {
		if r.prefix.Contains(a) {
			return r.what
		}
	}
	switch {
	case a.Is4():
		return ""
	case !publicIPv6.Contains(a):
		return "not of the public Internet"
	case isISATAP(a):
		return "ISATAP, IPv4 in IPv6"
	}
	return ""
}

// isISATAP reports whether the last 64 bits are 0:5efe or 200:5efe and an IPv4 address, which the network takes from there
// (RFC 5214, section 6.1). The two lowest bits of their first byte only say who assigns them.
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
