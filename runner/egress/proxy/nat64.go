package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// nat64 are the prefixes under which this host's network translates IPv6 to IPv4 (NAT64): behind them are addresses that no analysis may
// reach. A prefix that the resolver does not use cannot be found; deny_addresses can name it.
type nat64 struct {
	resolve func() ([]netip.Addr, error) // IPv6 addresses of discoveryName

	mu       sync.Mutex
	known    bool
	prefixes nat64Prefixes
}

// refused returns why direct refuses an address, or an IPv4 address to which the network may translate it; "" if it does not.
func (n *nat64) refused(a netip.Addr, direct func(netip.Addr) string) string {
	if why := direct(a); why != "" || a.Is4() {
		return why
	}
	prefixes, err := n.find()
	if err != nil {
		return fmt.Sprintf("whether the network translates it to IPv4 is not known: %v", err)
	}
	for _, v4 := range prefixes.embedded(a) {
		if why := direct(v4); why != "" {
			return fmt.Sprintf("NAT64 of %s, %s", v4, why)
		}
	}
	return ""
}

// find discovers the prefixes when the first IPv6 address comes. A failure is tried again with the next.
func (n *nat64) find() (nat64Prefixes, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known {
		return n.prefixes, nil
	}
	all, err := n.resolve()
	var failed *net.DNSError
	var unsuitable *net.AddrError
	if errors.As(err, &failed) && failed.IsNotFound || errors.As(err, &unsuitable) { // the latter: /etc/hosts has IPv4 only
		all, err = nil, nil // as on most networks
	}
	if err == nil {
		n.known, n.prefixes = true, discovered(all)
	}
	return n.prefixes, err
}

// discoveryName has the IPv4 addresses wellKnown and no other. A resolver that has an IPv6 address for it makes those of a NAT64 prefix
// of its network (RFC 7050).
const discoveryName = "ipv4only.arpa"

var wellKnown = [2][4]byte{{192, 0, 0, 170}, {192, 0, 0, 171}}

// nat64Prefixes are those under which a network translates IPv6 to IPv4.
type nat64Prefixes []netip.Prefix

// discovered returns the prefixes of the addresses that discoveryName has.
func discovered(all []netip.Addr) (found nat64Prefixes) {
	for _, a := range all {
		if !a.Is6() || a.Is4In6() {
			continue
		}
		for _, bits := range []int{32, 40, 48, 56, 64, 96} {
			if v4 := embeddedIn(a, bits).As4(); v4 == wellKnown[0] || v4 == wellKnown[1] {
				found = append(found, netip.PrefixFrom(a, bits).Masked())
			}
		}
	}
	return found
}

// embedded returns the IPv4 addresses to which the network may translate an address.
func (p nat64Prefixes) embedded(a netip.Addr) (all []netip.Addr) {
	for _, prefix := range p {
		if prefix.Contains(a) {
			all = append(all, embeddedIn(a, prefix.Bits()))
		}
	}
	return all
}

// embeddedIn is the IPv4 address behind a prefix. It leaves out the eighth byte (RFC 6052, section 2.2).
func embeddedIn(a netip.Addr, bits int) netip.Addr {
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
