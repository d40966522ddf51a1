package trials

import (
	"errors"
	"fmt"
	"net"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/listener"
)

// Listeners opens listeners on every address of the host and on an abstract socket, which count what reaches them.
func Listeners() (all []Trial, listeners []*listener.Listener, err error) {
	hosts, err := listener.HostAddresses()
	if err != nil {
		return nil, nil, err
	}
	secret := probe.RandomName("")
	open := func(l *listener.Listener, failed error, address string, trialOf func(address string) Trial) {
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("listen at %s: %w", address, failed))
			return
		}
		listeners = append(listeners, l)
		all = append(all, counted(l, trialOf(l.Address)))
	}
	for _, host := range hosts {
		address := net.JoinHostPort(host, "0")
		l, failed := listener.New("tcp", address, secret)
		open(l, failed, address, tcpTrial)
		l, failed = listener.NewDNS(address, secret)
		open(l, failed, address, dnsTrial)
	}
	abstract := "@scidex-selftest-" + secret[:8]
	l, failed := listener.New("unix", abstract, secret)
	open(l, failed, abstract, socketTrial)
	return all, listeners, err
}

// counted makes the control of a trial, which the listener must count, and lets the listener judge with the canary.
func counted(l *listener.Listener, t Trial) Trial {
	t = t.performOutside()
	if n, err := l.Count(); err != nil || n == 0 {
		t.Controlled, t.Control = false, fmt.Sprintf("%s, but our listener received nothing", t.Control)
	}
	t.Target += " (a listener of ours)"
	inside := t.Judge
	t.Judge = func(o canary.Outcome) (judge.Result, string) {
		result, detail := inside(o)
		switch n, err := l.Count(); {
		case err != nil:
			return judge.Worse(result, judge.Inconclusive), detail + "; the listener failed: " + err.Error()
		case n > 0:
			return judge.Fail, fmt.Sprintf("%s; the listener was reached %d times meanwhile", detail, n)
		}
		return result, detail + ", and the listener received nothing"
	}
	return t
}
