package selftest

import (
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
)

// trial is an attempt of a canary, with its judge and its control.
type trial struct {
	check, target string
	attempt       canary.Attempt
	judge         judge.Func
	// control is what happened outside, and controlled whether that proves that the attempt can succeed.
	control    string
	controlled bool
}

// fact is a trial that needs no control.
func fact(check, target string, attempt canary.Attempt, by judge.Func) trial {
	return trial{check: check, target: target, attempt: attempt, judge: by, controlled: true}
}

// performOutside makes the control.
func (t trial) performOutside() trial {
	got := strings.Join(slices.Collect(maps.Values(canary.Perform(t.attempt).Got)), " ") // of its one step
	t.controlled, t.control = got == canary.OK, got+" outside"
	if t.controlled {
		t.control = "reached outside"
	}
	return t
}

// verdict judges an outcome; nil where there is none, for the reason. Anything reached is a failure, even where the control
// reached nothing.
func (t trial) verdict(o *canary.Outcome, reason string) Check {
	c := Check{Check: t.check, Target: t.target, Result: judge.Fail, Control: t.control}
	if o == nil {
		c.Detail = "the canary did not tell: " + reason
		return c
	}
	c.Result, c.Detail = t.judge(*o)
	if c.Result == judge.Pass && !t.controlled {
		c.Result = judge.Inconclusive
		c.Detail += "; but that proves nothing, because it was not reached outside either"
	}
	return c
}

func attempts(trials []trial) (all []canary.Attempt) {
	for _, t := range trials {
		all = append(all, t.attempt)
	}
	return all
}

// refusal is a trial of one step that must be refused with one of the errors.
func refusal(do, at, step string, errors []string) trial {
	return trial{check: do, target: at, attempt: canary.Attempt{Do: do, At: at}, judge: judge.Refused([]string{step}, errors...)}
}

func tcpTrial(address string) trial {
	return refusal("tcp", address, "connect", judge.HostClosed(hostOf(address)))
}

func dnsTrial(server string) trial {
	return refusal("dns", server, "ask", judge.HostClosed(hostOf(server)))
}

func socketTrial(path string) trial { return refusal("socket", path, "connect", judge.SocketClosed) }

func lookupTrial(name string) trial { return refusal("lookup", name, "lookup", []string{"unresolved"}) }

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}
