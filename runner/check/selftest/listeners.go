package selftest

import (
	"errors"
	"fmt"
	"net"
)

// listeners are our own, on every address of the host and on an abstract socket: there the host itself
// hears whether somebody comes.
func (t *test) listeners() (all []probe, err error) {
	hosts, err := addresses()
	if err != nil {
		return nil, err
	}
	secret, err := token()
	if err != nil {
		return nil, err
	}
	open := func(make func(address string) (*ear, error), probeOf func(address string) probe, address string) {
		e, failed := make(address)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("listen at %s: %w", address, failed))
			return
		}
		t.ears = append(t.ears, e)
		all = append(all, e.probe(probeOf(e.address)))
	}
	for _, host := range hosts {
		any := net.JoinHostPort(host, "0")
		open(func(at string) (*ear, error) { return listen("tcp", at, secret) }, func(at string) probe {
			host, port, _ := net.SplitHostPort(at)
			return tcpProbe(host, port)
		}, any)
		open(func(at string) (*ear, error) { return listenDNS(at, secret) }, dnsProbe, any)
	}
	open(func(at string) (*ear, error) { return listen("unix", at, secret) }, socketProbe, "@scidex-selftest-"+secret[:8])
	return all, err
}

// probe makes the try outside, which the ear must hear, and lets the ear judge beside the canary.
func (e *ear) probe(p probe) probe {
	p = p.tryOutside()
	if n, err := e.heard(); err != nil || n == 0 {
		p.controlled, p.control = false, fmt.Sprintf("%s, but our listener heard nothing", p.control)
	}
	p.target += " (a listener of ours)"
	inside := p.judge
	p.judge = func(o outcome) (Result, string) {
		result, detail := inside(o)
		switch n, err := e.heard(); {
		case err != nil:
			return worse(result, Inconclusive), detail + "; the listener failed: " + err.Error()
		case n > 0:
			return Fail, fmt.Sprintf("%s; the listener was reached %d times meanwhile", detail, n)
		}
		return result, detail + ", and the listener heard nothing"
	}
	return p
}
