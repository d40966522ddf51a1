package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/egress"
)

// Outside is the network of this host.
func Outside(ctx context.Context, config egress.Config) (Network, error) {
	resolver := net.Resolver{PreferGo: true}
	resolve := func(ctx context.Context, name string) ([]netip.Addr, error) {
		return resolver.LookupNetIP(ctx, "ip", name+".") // no search domain
	}
	own, err := services(ctx, config.Own, resolve)
	if err != nil {
		return Network{}, err
	}
	dialer := net.Dialer{}
	n := &nat64{resolve: func() ([]netip.Addr, error) {
		ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
		defer cancel()
		return resolver.LookupNetIP(ctx, "ip6", discoveryName+".")
	}}
	return Network{
		Resolve: resolve,
		Refused: func(a netip.Addr) string {
			return n.refused(a, func(a netip.Addr) string { return refused(a, config.Deny, own) })
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", to.String())
		},
	}, nil
}

// services are the addresses of the platform's own services. Without them nothing is sent.
func services(ctx context.Context, hosts []string, resolve func(context.Context, string) ([]netip.Addr, error)) (all []netip.Addr, err error) {
	for _, host := range hosts {
		if a, err := netip.ParseAddr(host); err == nil {
			all = append(all, a.Unmap())
			continue
		}
		addresses, err := resolve(ctx, host)
		if err != nil {
			return nil, fmt.Errorf("the host %s of the catalog or the blob store, which no analysis may reach, cannot be resolved: %w", host, err)
		}
		for _, a := range addresses {
			all = append(all, a.Unmap())
		}
	}
	return all, nil
}

func refused(a netip.Addr, deny []netip.Prefix, own []netip.Addr) string {
	if why := notPublic(a); why != "" {
		return why
	}
	if slices.ContainsFunc(deny, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return "deny_addresses of the configuration"
	}
	if slices.Contains(own, a) {
		return "the platform's own"
	}
	return hosts(a)
}

// hosts refuses the addresses of this host, which may change. Where they cannot be read, all are.
func hosts(a netip.Addr) string {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return "the addresses of this host cannot be read"
	}
	for _, i := range interfaces {
		if n, ok := i.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == a {
				return "this host"
			}
		}
	}
	return ""
}
