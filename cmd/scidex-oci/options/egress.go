package options

import (
	"cmp"
	"fmt"
	"net/netip"

	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Egress is what the config file in use and the operator's permit of requests to hosts. A host must be permitted by each of them that
// has allow_hosts; an address is denied by either.
func (g *Global) Egress() (p egress.Policy, err error) {
	if p, err = g.file.egress(OperatorConfig); err == nil {
		p.Inject, err = g.injections()
	}
	return p, err
}

func (l layer) egress(operator string) (p egress.Policy, err error) {
	system, err := l.operators(operator)
	if err != nil {
		return p, err
	}
	for _, from := range []layer{l, system} {
		if err := from.addEgress(&p); err != nil {
			return p, fmt.Errorf("config file %q: %w", from.file, err)
		}
	}
	return p, nil
}

// injections are those of --inject.
func (g *Global) injections() (all []egress.Injection, err error) {
	for _, text := range g.Inject.Values {
		i, err := egress.ParseInjection(text)
		if err != nil {
			return nil, g.Inject.Wrap(err)
		}
		all = append(all, i)
	}
	return all, nil
}

func (l layer) addEgress(p *egress.Policy) error {
	for _, text := range l.values[denyAddresses] {
		network, err := parseNetwork(text)
		if err != nil {
			return err
		}
		p.Deny = append(p.Deny, network)
	}
	list, given := l.values[allowHosts]
	if !given {
		return nil
	}
	hosts, err := spec.ParseHosts(list)
	if err != nil {
		return err
	}
	p.Bounds = append(p.Bounds, egress.Bound{File: l.file, Hosts: hosts})
	return nil
}

// checkEgress refuses a bad value of one source.
func checkEgress(name string, list []string) (err error) {
	switch name {
	case key(allowHosts):
		_, err = spec.ParseHosts(list)
	case key(denyAddresses):
		for _, text := range list {
			_, failed := parseNetwork(text)
			err = cmp.Or(err, failed)
		}
	}
	return err
}

func parseNetwork(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return network, fmt.Errorf("%q is no address and no network such as 203.0.113.0/24", text)
	}
	return network.Masked(), nil
}
