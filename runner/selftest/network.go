package selftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tryOutside makes the control.
func (p probe) tryOutside() probe {
	said := strings.Join(slices.Collect(maps.Values(perform(p.try).Got)), " ") // of the one step that these have
	p.controlled, p.control = said == succeeded, said+" outside"
	if p.controlled {
		p.control = "reached outside"
	}
	return p
}

// targets are the probes of everything that must not be reached.
func (t *test) targets(ctx context.Context) (all []probe) {
	for _, target := range t.options.Targets {
		for _, p := range t.target(ctx, target) {
			if !slices.ContainsFunc(all, func(other probe) bool { return other.check == p.check && other.target == p.target }) {
				all = append(all, p)
			}
		}
	}
	return all
}

func (t *test) target(ctx context.Context, target Target) []probe {
	switch {
	case target.Usual:
		return t.usual(ctx, target)
	case target.Socket != "":
		return []probe{socketProbe(target.Socket).tryOutside()}
	}
	return t.service(ctx, target)
}

// usual are the places where PostgreSQL is on a host of its own. Those where nothing answers are left out;
// that nothing answers anywhere is told.
func (t *test) usual(ctx context.Context, target Target) []probe {
	port, pattern := target.Port, ".s.PGSQL."+target.Port
	if port == "" {
		port, pattern = defaultPort, ".s.PGSQL.*"
	}
	found := answering(t.service(ctx, Target{Host: "localhost", Port: port}))
	for _, dir := range []string{"/run/postgresql", "/var/run/postgresql", "/tmp"} {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is a good one
		for _, path := range paths {
			if !strings.HasSuffix(path, ".lock") {
				found = append(found, answering([]probe{socketProbe(path).tryOutside()})...)
			}
		}
	}
	if len(found) > 0 {
		return found
	}
	p := probe{check: "target", target: target.String(), control: "nothing answers at localhost:" + port + " and in the usual directories of sockets"}
	p.try = try{Do: "lookup", At: "localhost"} // something has to be tried
	p.judge = func(outcome) (Result, string) {
		return Inconclusive, "there is nothing to reach; name what must be out of reach with --target URL|HOST:PORT|SOCKET"
	}
	return []probe{p}
}

func answering(probes []probe) []probe {
	return slices.DeleteFunc(probes, func(p probe) bool { return !p.controlled })
}

// service are the probes of a TCP service: each of its addresses, its name, and whether the name can be
// resolved.
func (t *test) service(ctx context.Context, target Target) []probe {
	if _, err := netip.ParseAddr(target.Host); err == nil {
		return []probe{tcpProbe(target.Host, target.Port).tryOutside()}
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	hosts, err := net.DefaultResolver.LookupHost(within, target.Host)
	if err != nil {
		p := tcpProbe(target.Host, target.Port)
		p.control = "its name is not resolved"
		return []probe{p}
	}
	var all []probe
	for _, host := range hosts {
		all = append(all, tcpProbe(host, target.Port).tryOutside())
	}
	// A name stands for all of its addresses: where one answers, the others are no targets.
	if some := answering(slices.Clone(all)); len(some) > 0 {
		for _, p := range all {
			if !p.controlled {
				t.note(fmt.Sprintf("%s does not answer (%s) and was left out: %s answers", p.target, p.control, some[0].target))
			}
		}
		all = append(some, tcpProbe(target.Host, target.Port).tryOutside())
	}
	if !isLocalName(target.Host) {
		all = append(all, lookupProbe(target.Host).tryOutside())
	}
	return all
}

// isLocalName reports whether a name stands in the container's own hosts file.
func isLocalName(name string) bool {
	return slices.Contains([]string{"localhost", "ip6-localhost", "ip6-loopback", "scidex"}, strings.ToLower(strings.TrimSuffix(name, ".")))
}

func tcpProbe(host, port string) probe {
	address := net.JoinHostPort(host, port)
	return probe{
		check: "tcp", target: address,
		try:   try{Do: "tcp", At: address},
		judge: refused([]string{"connect"}, closedAt(host)...),
	}
}

// closedAt are the words of a host that is out of reach.
func closedAt(host string) []string {
	at, err := netip.ParseAddr(host)
	switch {
	case err != nil && isLocalName(host), err == nil && at.IsLoopback(), err == nil && at.IsUnspecified():
		return closedLoopback
	case err != nil:
		return append([]string{"unresolved"}, closedNetwork...)
	case at.Zone() != "":
		return closedZone
	}
	return closedNetwork
}

func socketProbe(path string) probe {
	return probe{
		check: "socket", target: path,
		try:   try{Do: "socket", At: path},
		judge: refused([]string{"connect"}, closedSocket...),
	}
}

func lookupProbe(name string) probe {
	return probe{
		check: "lookup", target: name,
		try:   try{Do: "lookup", At: name},
		judge: refused([]string{"lookup"}, "unresolved"),
	}
}

func dnsProbe(server string) probe {
	host, _, _ := net.SplitHostPort(server)
	return probe{
		check: "dns", target: server,
		try:   try{Do: "dns", At: server},
		judge: refused([]string{"ask"}, closedAt(host)...),
	}
}

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

// nameServers are those of the host. One that does not answer outside is left out: our own listeners prove
// the same on every host.
func (t *test) nameServers() (all []probe) {
	for _, server := range resolvers("/etc/resolv.conf") {
		p := dnsProbe(server).tryOutside()
		if p.controlled {
			all = append(all, p)
		} else {
			t.note(fmt.Sprintf("name server %s does not answer (%s) and was left out", server, p.control))
		}
	}
	return all
}

// resolvers reads the name servers of resolv.conf(5).
func resolvers(path string) (servers []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if _, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, net.JoinHostPort(fields[1], "53"))
		}
	}
	return servers
}
