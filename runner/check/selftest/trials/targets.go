package trials

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/target"
)

// Targets try to reach the targets. Notes say which addresses were left out.
func Targets(ctx context.Context, targets []target.Target) (all []Trial, notes []string) {
	for _, to := range targets {
		trials, more := trialsOf(ctx, to)
		notes = append(notes, more...)
		for _, one := range trials {
			if !slices.ContainsFunc(all, func(other Trial) bool { return other.Check == one.Check && other.Target == one.Target }) {
				all = append(all, one)
			}
		}
	}
	return all, notes
}

func trialsOf(ctx context.Context, to target.Target) (trials []Trial, notes []string) {
	switch {
	case to.Usual:
		return usualTrials(ctx, to)
	case to.Socket != "":
		return []Trial{socketTrial(to.Socket).performOutside()}, nil
	}
	return serviceTrials(ctx, to.Host, to.Port)
}

// usualTrials try the usual addresses of a PostgreSQL on the host, except those without an answer. Where none answers, one
// trial says so.
func usualTrials(ctx context.Context, to target.Target) (found []Trial, notes []string) {
	port, pattern := to.Port, ".s.PGSQL."+to.Port
	if port == "" {
		port, pattern = target.DefaultPort, ".s.PGSQL.*"
	}
	found, notes = serviceTrials(ctx, "localhost", port)
	found = reached(found)
	for _, dir := range []string{"/run/postgresql", "/var/run/postgresql", "/tmp"} {
		paths, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is valid
		for _, path := range paths {
			if !strings.HasSuffix(path, ".lock") {
				found = append(found, reached([]Trial{socketTrial(path).performOutside()})...)
			}
		}
	}
	if len(found) > 0 {
		return found, notes
	}
	none := Trial{Check: "target", Target: to.String(), Control: "nothing answers at localhost:" + port + " and in the usual directories of sockets"}
	none.Attempt = canary.Attempt{Do: "lookup", At: "localhost"} // ignored, but every trial has an attempt
	none.Judge = func(canary.Outcome) (judge.Result, string) {
		return judge.Inconclusive, "there is nothing to reach; name what must be out of reach with --target URL|HOST:PORT|SOCKET"
	}
	return []Trial{none}, notes
}

// reached keeps the trials whose control succeeded.
func reached(trials []Trial) []Trial {
	return slices.DeleteFunc(trials, func(t Trial) bool { return !t.Controlled })
}

// serviceTrials try each address of a TCP service, its name, and to resolve the name.
func serviceTrials(ctx context.Context, host, port string) (all []Trial, notes []string) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []Trial{tcpTrial(net.JoinHostPort(host, port)).performOutside()}, nil
	}
	within, cancel := context.WithTimeout(ctx, canary.Timeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(within, host)
	if err != nil {
		unresolved := tcpTrial(net.JoinHostPort(host, port))
		unresolved.Control = "its name is not resolved"
		return []Trial{unresolved}, nil
	}
	for _, address := range addresses {
		all = append(all, tcpTrial(net.JoinHostPort(address, port)).performOutside())
	}
	// A name stands for all of its addresses: where one answers, the others are no targets.
	if some := reached(slices.Clone(all)); len(some) > 0 {
		for _, one := range all {
			if !one.Controlled {
				notes = append(notes, fmt.Sprintf("%s does not answer (%s) and was left out: %s answers", one.Target, one.Control, some[0].Target))
			}
		}
		all = append(some, tcpTrial(net.JoinHostPort(host, port)).performOutside())
	}
	if !judge.LocalName(host) {
		all = append(all, lookupTrial(host).performOutside())
	}
	return all, notes
}
