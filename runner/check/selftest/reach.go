package selftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// launcherVariable is in the launcher's environment and must be in no run's.
const launcherVariable = "SCIDEX_OCI_SELFTEST_CANARY"

// reach lets one canary try to reach everything, and two canaries look for each other. It returns the result of the first.
func (s *examination) reach(ctx context.Context, targets []Target) (main result.Result, err error) {
	secret := check.RandomName("")
	if err := os.Setenv(launcherVariable, secret); err != nil {
		return main, err
	}
	defer os.Unsetenv(launcherVariable)
	trials, err := s.outside(ctx, targets)
	if err != nil {
		return main, err
	}
	p := pair{examination: s, trials: trials}
	if err := p.launch(ctx, secret); err != nil {
		return main, err
	}
	if err := p.meet(ctx); err != nil {
		return main, err
	}
	return p.canaries[0].Result, s.Check(ctx, p.checks()...)
}

// outside makes all controls before a canary starts. Only the targets get packets beyond this host: listeners on it prove
// that DNS is unreachable.
func (s *examination) outside(ctx context.Context, targets []Target) ([]trial, error) {
	if len(targets) == 0 {
		targets = []Target{DefaultTarget}
	}
	reaching, notes := targetTrials(ctx, targets)
	s.note(notes...)
	listening, listeners, err := listenerTrials()
	s.listeners = listeners
	if err != nil {
		return nil, err
	}
	all := slices.Concat(reaching, listening, writeTrials(s.view))
	if s.view.Analysis.Requests() {
		all = append(all, proxyTrials(slices.Concat(reaching, listening))...)
	}
	return all, context.Cause(ctx)
}

// targetTrials try to reach the targets. Notes say which addresses were left out.
func targetTrials(ctx context.Context, targets []Target) (all []trial, notes []string) {
	for _, to := range targets {
		trials, more := trialsOf(ctx, to)
		notes = append(notes, more...)
		for _, one := range trials {
			if !slices.ContainsFunc(all, func(other trial) bool { return other.name == one.name && other.target == one.target }) {
				all = append(all, one)
			}
		}
	}
	return all, notes
}

func trialsOf(ctx context.Context, to Target) (trials []trial, notes []string) {
	switch {
	case to.Usual:
		return usualTrials(ctx, to)
	case to.Socket != "":
		return []trial{socketTrial(to.Socket).performOutside()}, nil
	}
	return serviceTrials(ctx, to.Host, to.Port)
}

// usualTrials try the usual addresses of a PostgreSQL on the host, except those without an answer. If none answers, one
// trial says so.
func usualTrials(ctx context.Context, to Target) (found []trial, notes []string) {
	port, pattern := to.Port, ".s.PGSQL."+to.Port
	if port == "" {
		port, pattern = defaultPort, ".s.PGSQL.*"
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
	none := trial{name: "target", target: to.String(), control: "nothing answers at localhost:" + port + " and in the usual directories of sockets"}
	none.attempt = canary.Attempt{Do: "lookup", At: "localhost"} // ignored, but every trial has an attempt
	none.judge = func(canary.Outcome) (check.Status, string) {
		return check.Inconclusive, "there is nothing to reach; name what must be out of reach with --target URL|HOST:PORT|SOCKET"
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
	// A name stands for all of its addresses: if one answers, the others are no targets.
	if some := reached(slices.Clone(all)); len(some) > 0 {
		for _, one := range all {
			if !one.controlled {
				notes = append(notes, fmt.Sprintf("%s does not answer (%s) and was left out: %s answers", one.target, one.control, some[0].target))
			}
		}
		all = append(some, tcpTrial(net.JoinHostPort(host, port)).performOutside())
	}
	if !localName(host) {
		all = append(all, lookupTrial(host).performOutside())
	}
	return all, notes
}

// listenerTrials opens listeners on every address of the host and on an abstract socket, which count what reaches them.
func listenerTrials() (all []trial, listeners []*listener, err error) {
	hosts, err := hostAddresses()
	if err != nil {
		return nil, nil, err
	}
	secret := check.RandomName("")
	open := func(l *listener, failed error, address string, trialOf func(address string) trial) {
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("listen at %s: %w", address, failed))
			return
		}
		listeners = append(listeners, l)
		all = append(all, counted(l, trialOf(l.Address)))
	}
	for _, host := range hosts {
		address := net.JoinHostPort(host, "0")
		l, failed := newListener("tcp", address, secret)
		open(l, failed, address, tcpTrial)
		l, failed = newDNSListener(address, secret)
		open(l, failed, address, dnsTrial)
	}
	abstract := "@scidex-selftest-" + secret[:8]
	l, failed := newListener("unix", abstract, secret)
	open(l, failed, abstract, socketTrial)
	return all, listeners, err
}

// counted makes the control of a trial, which the listener must count, and lets the listener judge with the canary.
func counted(l *listener, t trial) trial {
	t = t.performOutside()
	if n, err := l.Count(); err != nil || n == 0 {
		t.controlled, t.control = false, fmt.Sprintf("%s, but our listener received nothing", t.control)
	}
	t.target += " (a listener of ours)"
	inside := t.judge
	t.judge = func(o canary.Outcome) (check.Status, string) {
		result, detail := inside(o)
		switch n, err := l.Count(); {
		case err != nil:
			return worse(result, check.Inconclusive), detail + "; the listener failed: " + err.Error()
		case n > 0:
			return check.Fail, fmt.Sprintf("%s; the listener was reached %d times meanwhile", detail, n)
		}
		return result, detail + ", and the listener received nothing"
	}
	return t
}

// others are what the proxy of a run must refuse, whatever hosts are permitted: the metadata of clouds, this host, and a name that does not
// exist.
var others = []string{"169.254.169.254:80", "localhost:80", "127.0.0.1:443", "[::1]:443", "selftest.invalid:443"}

// proxyTrials try to reach by the proxy of the run what others try to connect to, and more. A proxy that tries is a failure or
// proves nothing.
func proxyTrials(connecting []trial) (all []trial) {
	refusedByProxy := refused("proxy", "ask")
	for _, t := range connecting {
		if t.attempt.Do == "tcp" {
			t.name, t.attempt.Do, t.judge = "proxy", "proxy", refusedByProxy
			all = append(all, t)
		}
	}
	for _, address := range others {
		all = append(all, fact("proxy", address, canary.Attempt{Do: "proxy", At: address}, refusedByProxy))
	}
	return all
}

func tcpTrial(address string) trial {
	return refusal("tcp", address, "connect", attackOf(hostOf(address)))
}

func dnsTrial(server string) trial { return refusal("dns", server, "ask", attackOf(hostOf(server))) }

func socketTrial(path string) trial {
	attack := "socket"
	if strings.HasPrefix(path, "@") {
		attack = "abstract"
	}
	return refusal("socket", path, "connect", attack)
}

func lookupTrial(name string) trial { return refusal("lookup", name, "lookup", "name") }

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

// attackOf is the attack on a host.
func attackOf(host string) string {
	at, err := netip.ParseAddr(host)
	switch {
	case err != nil && localName(host), err == nil && at.IsLoopback(), err == nil && at.IsUnspecified():
		return "loopback"
	case err != nil:
		return "host"
	case at.Zone() != "":
		return "zone"
	}
	return "network"
}

// localName reports whether a name is in the container's own hosts file.
func localName(name string) bool {
	return slices.Contains([]string{"localhost", "ip6-localhost", "ip6-loopback", "scidex"}, strings.ToLower(strings.TrimSuffix(name, ".")))
}
