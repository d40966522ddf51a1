package selftest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/attacks"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// judge says what an outcome proves, and describes it. It comes from a sandbox that may have a hole: a missing or unknown one
// is a failure, and if the kernel or the host saw what happened, that counts instead.
type judge func(canary.Outcome) (check.Status, string)

// worse returns the worse status.
func worse(a, b check.Status) check.Status {
	order := []check.Status{check.Pass, check.Accepted, check.Inconclusive, check.Fail}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// refused passes if the canary reported exactly these steps, and each got an answer that proves that the attack is held.
func refused(attack string, steps ...string) judge {
	return func(o canary.Outcome) (check.Status, string) {
		result := check.Pass
		if !slices.Equal(o.Steps(), slices.Sorted(slices.Values(steps))) {
			return check.Fail, "the canary answered something else: " + o.String()
		}
		for _, step := range steps {
			result = worse(result, judgeStep(attack, o.Got[step]))
		}
		if len(steps) == 1 {
			return result, o.Got[steps[0]]
		}
		return result, o.String()
	}
}

// judgeStep judges the answer to one step of an attack.
func judgeStep(attack, answer string) check.Status {
	switch {
	case attacks.Held(attack, answer):
		return check.Pass
	case slices.Contains([]string{"timeout", "ETIMEDOUT", "EAGAIN", "ENOENT", "error", "unresolved"}, answer):
		return check.Inconclusive // it may be slow, distant or down by now
	}
	return check.Fail // it was reached, or something answered
}

// nothingCreated requires no file in any directory.
func nothingCreated(o canary.Outcome) (check.Status, string) {
	switch {
	case len(o.Got) > 0:
		return check.Fail, o.String()
	case o.Count == 0:
		return check.Fail, "the canary looked at no directory"
	case o.Partial:
		return check.Inconclusive, fmt.Sprintf("read-only, but only the first %d directories were tried", o.Count)
	}
	return check.Pass, fmt.Sprintf("%d directories, all read-only", o.Count)
}

// descriptors wants only 0, 1 and 2 to be open.
func descriptors(o canary.Outcome) (check.Status, string) {
	if !slices.Equal(o.Steps(), []string{"0", "1", "2"}) {
		return check.Fail, "open: " + o.String()
	}
	return check.Pass, "no other is open"
}

// userNamespaces wants none to be allowed.
func userNamespaces(o canary.Outcome) (check.Status, string) {
	if o.Got["text"] != "0" {
		return check.Fail, fmt.Sprintf("%q may be made", o.Got["text"])
	}
	return check.Pass, "none may be made"
}

// signalled wants that a process of the host cannot be signalled.
func signalled(o canary.Outcome) (check.Status, string) {
	if o.Got["kill"] == canary.OwnPID {
		return check.Pass, "that number is the canary's own inside"
	}
	return refused("signal", "kill")(o)
}

// processes wants a canary to see its init and itself only.
func processes(o canary.Outcome) (check.Status, string) {
	itself := o.Got[canary.Self]
	seen := canary.Outcome{Got: maps.Clone(o.Got)}
	delete(seen.Got, canary.Self)
	_, err := strconv.Atoi(itself)
	if err != nil || itself == "1" || seen.Got[itself] == "" || seen.Got["1"] == "" || len(seen.Got) != 2 || o.Partial {
		return check.Fail, "visible: " + seen.String()
	}
	return check.Pass, "its init and itself"
}

// environment wants exactly the variables that a run is given.
func environment(given []string) judge {
	return func(o canary.Outcome) (check.Status, string) {
		for _, name := range o.Steps() {
			if o.Got[name] == canary.OK {
				return check.Fail, name + " holds what only the launcher's environment has"
			}
			if !slices.Contains(given, name) {
				return check.Fail, name + " was not given to the run"
			}
		}
		if len(o.Got) != len(given) || o.Partial {
			return check.Fail, fmt.Sprintf("%d variables, and the run was given %d", len(o.Got), len(given))
		}
		return check.Pass, fmt.Sprintf("%d, none of the launcher's", len(o.Got))
	}
}

// status judges fields of proc_pid_status(5). kept returns the supplementary groups in the result of the run: those that a
// single id cannot drop. Runs with enforced limits refuse them unless the caller chose its own id.
func status(kept func() []int) judge {
	return func(o canary.Outcome) (check.Status, string) {
		for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if bits := o.Got[name]; bits == "" || strings.Trim(bits, "0") != "" {
				return check.Fail, fmt.Sprintf("capabilities: %s is %q", name, bits)
			}
		}
		for name, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
			if o.Got[name] != want {
				return check.Fail, fmt.Sprintf("%s is %q, not %s", name, o.Got[name], want)
			}
		}
		detail := "no capability, no new privileges, system calls filtered"
		groups, ok := o.Got["Groups"]
		groups = supplementary(groups, o.Got["Gid"])
		switch {
		case !ok:
			return check.Fail, "the canary did not report its groups"
		case groups == "":
			return check.Pass, detail + ", no supplementary group"
		case len(kept()) == 0:
			return check.Fail, "supplementary groups " + groups + ", which the run's result does not name"
		}
		return check.Accepted, fmt.Sprintf("%s; the caller's groups %v are kept, because a single id cannot drop them", detail, kept())
	}
}

// heldByLandlock wants the version that the kernel has in the result of the run, and init out of reach of signals by one that scopes them.
func heldByLandlock(held func() int, had int) judge {
	return func(o canary.Outcome) (check.Status, string) {
		switch version := held(); {
		case version != had:
			return check.Fail, fmt.Sprintf("the run was held by version %d, and the kernel has %d", version, had)
		case had == 0:
			return check.Pass, "the kernel has none of use"
		case had >= scopesSignals && o.Got["init"] != "EPERM":
			return check.Fail, fmt.Sprintf("version %d was to hold it, and a signal to its init gave %q", had, o.Got["init"])
		}
		return check.Pass, fmt.Sprintf("version %d", had)
	}
}

// scopesSignals is the version of Landlock from which on signals are scoped.
const scopesSignals = 6

// supplementary drops from groups the group of the process.
func supplementary(groups, gids string) string {
	own, _, _ := strings.Cut(gids, " ")
	return strings.Join(slices.DeleteFunc(strings.Fields(groups), func(g string) bool { return g == own }), " ")
}
