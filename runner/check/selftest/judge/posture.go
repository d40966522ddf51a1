package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// Descriptors wants only 0, 1 and 2 to be open.
func Descriptors(o canary.Outcome) (Result, string) {
	if !slices.Equal(o.Steps(), []string{"0", "1", "2"}) {
		return Fail, "open: " + o.String()
	}
	return Pass, "no other is open"
}

var (
	// Absent wants nothing at a path.
	Absent = Refused([]string{"stat"}, "ENOENT", "ENOTDIR", "EACCES", "EPERM")
	// Unreadable wants that a file cannot be read.
	Unreadable = Refused([]string{"read"}, "EACCES", "EPERM")
	// SystemCalls wants those for privileged processes to be refused.
	SystemCalls = Refused([]string{"unshare user", "unshare mount", "unshare network", "mount"}, "EPERM", "ENOSPC")
	// Families wants sockets of the address families to be refused.
	Families = Refused(slices.Collect(maps.Keys(canary.Families)), "EAFNOSUPPORT", "EPERM", "EACCES", "ENOSYS")
)

// UserNamespaces wants none to be allowed.
func UserNamespaces(o canary.Outcome) (Result, string) {
	if o.Got["text"] != "0" {
		return Fail, fmt.Sprintf("%q may be made", o.Got["text"])
	}
	return Pass, "none may be made"
}

// Signal wants that a process of the host cannot be signalled.
func Signal(o canary.Outcome) (Result, string) {
	if o.Got["kill"] == canary.OwnPID {
		return Pass, "that number is the canary's own inside"
	}
	return Refused([]string{"kill"}, "ESRCH", "EPERM", "EACCES")(o)
}

// Processes wants a canary to see its init and itself only.
func Processes(o canary.Outcome) (Result, string) {
	itself := o.Got[canary.Self]
	seen := canary.Outcome{Got: maps.Clone(o.Got)}
	delete(seen.Got, canary.Self)
	_, err := strconv.Atoi(itself)
	if err != nil || itself == "1" || seen.Got[itself] == "" || seen.Got["1"] == "" || len(seen.Got) != 2 || o.Partial {
		return Fail, "visible: " + seen.String()
	}
	return Pass, "its init and itself"
}

// Environment wants exactly the variables that a run is given.
func Environment(given []string) Func {
	return func(o canary.Outcome) (Result, string) {
		for _, name := range o.Steps() {
			if o.Got[name] == canary.OK {
				return Fail, name + " holds what only the launcher's environment has"
			}
			if !slices.Contains(given, name) {
				return Fail, name + " was not given to the run"
			}
		}
		if len(o.Got) != len(given) || o.Partial {
			return Fail, fmt.Sprintf("%d variables where the run was given %d", len(o.Got), len(given))
		}
		return Pass, fmt.Sprintf("%d, none of the launcher's", len(o.Got))
	}
}

// Status judges fields of proc_pid_status(5). kept returns the supplementary groups in the result of the run: those that a
// single id cannot drop. Runs with enforced limits refuse them unless the caller chose its own id.
func Status(kept func() []int) Func {
	return func(o canary.Outcome) (Result, string) {
		for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if bits := o.Got[name]; bits == "" || strings.Trim(bits, "0") != "" {
				return Fail, fmt.Sprintf("capabilities: %s is %q", name, bits)
			}
		}
		for name, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
			if o.Got[name] != want {
				return Fail, fmt.Sprintf("%s is %q, not %s", name, o.Got[name], want)
			}
		}
		detail := "no capability, no new privileges, system calls filtered"
		groups, ok := o.Got["Groups"]
		groups = supplementary(groups, o.Got["Gid"])
		switch {
		case !ok:
			return Fail, "the canary did not report its groups"
		case groups == "":
			return Pass, detail + ", no supplementary group"
		case len(kept()) == 0:
			return Fail, "supplementary groups " + groups + ", which the run's result does not name"
		}
		return Accepted, fmt.Sprintf("%s; the caller's groups %v are kept, because a single id cannot drop them", detail, kept())
	}
}

// Landlock wants the version that the kernel has in the result of the run, and init out of reach of signals by one that scopes them.
func Landlock(held func() int, had int) Func {
	return func(o canary.Outcome) (Result, string) {
		switch version := held(); {
		case version != had:
			return Fail, fmt.Sprintf("the run was held by version %d, and the kernel has %d", version, had)
		case had == 0:
			return Pass, "the kernel has none of use"
		case had >= scopesSignals && o.Got["init"] != "EPERM":
			return Fail, fmt.Sprintf("version %d was to hold it, and a signal to its init gave %q", had, o.Got["init"])
		}
		return Pass, fmt.Sprintf("version %d", had)
	}
}

// scopesSignals is the version of Landlock from which on signals are scoped.
const scopesSignals = 6

// supplementary drops from groups the group of the process.
func supplementary(groups, gids string) string {
	own, _, _ := strings.Cut(gids, " ")
	return strings.Join(slices.DeleteFunc(strings.Fields(groups), func(g string) bool { return g == own }), " ")
}
