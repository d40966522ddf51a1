// Package trials has what a canary attempts in a selftest, with the control outside and the judge of each attempt.
package trials

import (
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
)

// Trial is an attempt of a canary, with its judge and its control.
type Trial struct {
	Check, Target string
	Attempt       canary.Attempt
	Judge         judge.Func
	// Control is what happened outside, and Controlled whether that proves that the attempt can succeed.
	Control    string
	Controlled bool
}

// Fact is a trial that needs no control.
func Fact(check, target string, attempt canary.Attempt, by judge.Func) Trial {
	return Trial{Check: check, Target: target, Attempt: attempt, Judge: by, Controlled: true}
}

// performOutside makes the control.
func (t Trial) performOutside() Trial {
	got := strings.Join(slices.Collect(maps.Values(canary.Perform(t.Attempt).Got)), " ") // of its one step
	t.Controlled, t.Control = got == canary.OK, got+" outside"
	if t.Controlled {
		t.Control = "reached outside"
	}
	return t
}

// Verdict judges an outcome; nil where there is none, for the reason. Anything reached is a failure, even where the control
// reached nothing.
func (t Trial) Verdict(o *canary.Outcome, reason string) report.Check {
	c := report.Check{Check: t.Check, Target: t.Target, Result: judge.Fail, Control: t.Control}
	if o == nil {
		c.Detail = "the canary reported nothing: " + reason
		return c
	}
	c.Result, c.Detail = t.Judge(*o)
	if c.Result == judge.Pass && !t.Controlled {
		c.Result = judge.Inconclusive
		c.Detail += "; but that proves nothing, because it was not reached outside either"
	}
	return c
}

// Attempts are those of the trials, in order.
func Attempts(trials []Trial) (all []canary.Attempt) {
	for _, t := range trials {
		all = append(all, t.Attempt)
	}
	return all
}

// refusal is a trial of one step that must be refused with one of the errors.
func refusal(do, at, step string, errors []string) Trial {
	return Trial{Check: do, Target: at, Attempt: canary.Attempt{Do: do, At: at}, Judge: judge.Refused([]string{step}, errors...)}
}

func tcpTrial(address string) Trial {
	return refusal("tcp", address, "connect", judge.HostClosed(hostOf(address)))
}

func dnsTrial(server string) Trial {
	return refusal("dns", server, "ask", judge.HostClosed(hostOf(server)))
}

func socketTrial(path string) Trial { return refusal("socket", path, "connect", judge.SocketClosed) }

func lookupTrial(name string) Trial { return refusal("lookup", name, "lookup", []string{"unresolved"}) }

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
