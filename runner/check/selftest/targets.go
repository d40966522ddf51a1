package selftest

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

// targetTrials try to reach the targets. Notes say which addresses were left out.
func targetTrials(ctx context.Context, targets []target.Target) (all []trial, notes []string) {
	for _, to := range targets {
		trials, more := trialsOf(ctx, to)
		notes = append(notes, more...)
		for _, one := range trials {
			if !slices.ContainsFunc(all, func(other trial) bool { return other.check == one.check && other.target == one.target }) {
				all = append(all, one)
			}
		}
	}
	return all, notes
}

func trialsOf(ctx context.Context, to target.Target) (trials []trial, notes []string) {
	switch {
	case to.Usual:
		return usualTrials(ctx, to)
	case to.Socket != "":
		return []trial{socketTrial(to.Socket).performOutside()}, nil
	}
	return serviceTrials(ctx, to.Host, to.Port)
}

// usualTrials try the usual addresses of a PostgreSQL on the host, except those without an answer. Where none answers, one
// trial says so.
func usualTrials(ctx context.Context, to target.Target) (found []trial, notes []string) {
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
				found = append(found, reached([]trial{socketTrial(path).performOutside()})...)
			}
		}
	}
	if len(found) > 0 {
		return found, notes
	}
	none := trial{check: "target", target: to.String(), control: "nothing answers at localhost:" + port + " and in the usual directories of sockets"}
	none.attempt = canary.Attempt{Do: "lookup", At: "localhost"} // ignored, but every trial has an attempt
	none.judge = func(canary.Outcome) (judge.Result, string) {
		return judge.Inconclusive, "there is nothing to reach; name what must be out of reach with --target URL|HOST:PORT|SOCKET"
	}
	return []trial{none}, notes
}

// reached keeps the trials whose control succeeded.
func reached(trials []trial) []trial {
	return slices.DeleteFunc(trials, func(t trial) bool { return !t.controlled })
}

// serviceTrials try each address of a TCP service, its name, and to resolve the name.
func serviceTrials(ctx context.Context, host, port string) (all []trial, notes []string) {
	if _, err := netip.ParseAddr(host); err == nil {
		return []trial{tcpTrial(net.JoinHostPort(host, port)).performOutside()}, nil
	}
	within, cancel := context.WithTimeout(ctx, canary.Timeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(within, host)
	if err != nil {
		unresolved := tcpTrial(net.JoinHostPort(host, port))
		unresolved.control = "its name is not resolved"
		return []trial{unresolved}, nil
	}
	for _, address := range addresses {
		all = append(all, tcpTrial(net.JoinHostPort(address, port)).performOutside())
	}
	// A name stands for all of its addresses: where one answers, the others are no targets.
	if some := reached(slices.Clone(all)); len(some) > 0 {
		for _, one := range all {
			if !one.controlled {
				notes = append(notes, fmt.Sprintf("%s does not answer (%s) and was left out: %s answers", one.target, one.control, some[0].target))
			}
		}
		all = append(some, tcpTrial(net.JoinHostPort(host, port)).performOutside())
	}
	if !judge.LocalName(host) {
		all = append(all, lookupTrial(host).performOutside())
	}
	return all, notes
}
