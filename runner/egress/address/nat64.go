package address

import "net/netip"

// DiscoveryName has the IPv4 addresses wellKnown and no other. A resolver that has an IPv6 address for it makes those of a NAT64 prefix
// of its network (RFC 7050).
const DiscoveryName = "ipv4only.arpa"

var wellKnown = [2][4]byte{{192, 0, 0, 170}, {192, 0, 0, 171}}

// Prefixes are those under which a network translates IPv6 to IPv4.
type Prefixes []netip.Prefix

// Discovered returns the prefixes of the addresses that DiscoveryName has.
func Discovered(all []netip.Addr) (found Prefixes) {
	for _, a := range all {
		if !a.Is6() || a.Is4In6() {
			continue
		}
		for _, bits := range []int{32, 40, 48, 56, 64, 96} {
			if v4 := embedded(a, bits).As4(); v4 == wellKnown[0] || v4 == wellKnown[1] {
				found = append(found, netip.PrefixFrom(a, bits).Masked())
			}
		}
	}
	return found
}

// Embedded returns the IPv4 addresses to which the network may translate an address.
func (p Prefixes) Embedded(a netip.Addr) (all []netip.Addr) {
	for _, prefix := range p {
		if prefix.Contains(a) {
			all = append(all, embedded(a, prefix.Bits()))
		}
	}
	return all
}

// embedded is the IPv4 address behind a prefix. It leaves out the eighth byte (RFC 6052, section 2.2).
func embedded(a netip.Addr, bits int) netip.Addr {
	b, at := a.As16(), bits/8
	var v4 [4]byte
	for i := range v4 {
		if at == 8 {
			at++
		}
		v4[i] = b[at]
		at++
	}
	return netip.AddrFrom4(v4)
}
