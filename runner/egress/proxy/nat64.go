package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/egress/address"
)

// nat64 are the prefixes under which this host's network translates IPv6 to IPv4 (NAT64): behind them are addresses that no analysis may
// reach. A prefix that the resolver does not use cannot be found; deny_addresses can name it.
type nat64 struct {
	resolve func() ([]netip.Addr, error) // IPv6 addresses of address.DiscoveryName

	mu       sync.Mutex
	known    bool
	prefixes address.Prefixes
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
	for _, v4 := range prefixes.Embedded(a) {
		if why := direct(v4); why != "" {
			return fmt.Sprintf("NAT64 of %s, %s", v4, why)
		}
	}
	return ""
}

// find discovers the prefixes when the first IPv6 address comes. A failure is tried again with the next.
func (n *nat64) find() (address.Prefixes, error) {
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
		n.known, n.prefixes = true, address.Discovered(all)
	}
	return n.prefixes, err
}
