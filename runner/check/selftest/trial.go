package selftest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// trial is an attempt of a canary, with its judge and its control.
type trial struct {
	name, target string // of the check
	attempt      canary.Attempt
	judge        judge
	// control says what the same attempt did outside; controlled, whether that proves that it can succeed.
	control    string
	controlled bool
}

// fact is a trial that needs no control.
func fact(name, target string, attempt canary.Attempt, by judge) trial {
	return trial{name: name, target: target, attempt: attempt, judge: by, controlled: true}
}

// refusal is a trial of one step of an attack.
func refusal(do, at, step, attack string) trial {
	return trial{name: do, target: at, attempt: canary.Attempt{Do: do, At: at}, judge: refused(attack, step)}
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

// check judges an outcome; nil if there is none, for the reason. Anything reached is a failure, even if the control reached
// nothing.
func (t trial) check(o *canary.Outcome, reason string) check.Check {
	return check.Check{Name: t.name, Target: t.target, Do: func(context.Context) check.Finding {
		f := check.Finding{Status: check.Fail, Control: t.control}
		if o == nil {
			f.Seen = "the canary reported nothing: " + reason
			return f
		}
		f.Status, f.Seen = t.judge(*o)
		if f.Status == check.Pass && !t.controlled {
			f.Status = check.Inconclusive
			f.Seen += "; but that proves nothing, because it was not reached outside either"
		}
		return f
	}}
}

// attempts are those of the trials, in order.
func attempts(trials []trial) (all []canary.Attempt) {
	for _, t := range trials {
		all = append(all, t.attempt)
	}
	return all
}

// known is the check of what is known already.
func known(name, target string, status check.Status, seen string) check.Check {
	return check.Check{Name: name, Target: target, Do: func(context.Context) check.Finding { return check.Finding{Status: status, Seen: seen} }}
}
