package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	resolveTimeout = 20 * time.Second
	dialTimeout    = 15 * time.Second
	maxAddresses   = 16 // of one name: more are not tried
)

// connect resolves the name once and dials one of the addresses that it has checked. One address that is not public refuses the
// name: it is not for the network to say which of them is taken.
func (n Network) connect(ctx context.Context, name string, port uint16) (net.Conn, netip.Addr, error) {
	resolving, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	addresses, err := n.Resolve(resolving, name)
	if err != nil {
		return nil, netip.Addr{}, fmt.Errorf("the name %s cannot be resolved: %w", name, err)
	}
	for i, a := range addresses {
		addresses[i] = a.Unmap()
		if why := n.Refused(addresses[i]); why != "" {
			return nil, netip.Addr{}, refuse("%s has the address %s, which no analysis may reach (%s)", name, addresses[i], why)
		}
	}
	return n.dialAny(ctx, addresses[:min(len(addresses), maxAddresses)], port)
}

func (n Network) dialAny(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, netip.Addr, error) {
	failed := errors.New("the name has no address")
	for _, address := range addresses {
		dialing, cancel := context.WithTimeout(ctx, dialTimeout)
		conn, err := n.Dial(dialing, netip.AddrPortFrom(address, port))
		cancel()
		if err == nil {
			return conn, address, nil
		}
		failed = err
	}
	return nil, netip.Addr{}, failed
}
