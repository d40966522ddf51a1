package selftest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
)

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
