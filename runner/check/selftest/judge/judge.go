// Package judge says what the outcomes of a canary's attempts prove. A canary's answer comes from a sandbox that may have a
// hole: a missing or unknown one is a failure, and where the kernel or the host saw what happened, that counts instead.
package judge

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

// Result of a check.
type Result string

// The results. Accepted is what the caller chose to do without (--limits best-effort, --ids self), which is no failure.
const (
	Pass         Result = "pass"
	Fail         Result = "fail"
	Inconclusive Result = "inconclusive"
	Accepted     Result = "accepted"
)

// Worse returns the worse result.
func Worse(a, b Result) Result {
	order := []Result{Pass, Accepted, Inconclusive, Fail}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// Func judges an outcome and describes it.
type Func func(canary.Outcome) (Result, string)

// Refused wants each step, and no other, to have failed with one of the errors.
func Refused(steps []string, errors ...string) Func {
	return func(o canary.Outcome) (Result, string) {
		result := Pass
		if !slices.Equal(o.Steps(), slices.Sorted(slices.Values(steps))) {
			return Fail, "the canary answered something else: " + o.String()
		}
		for _, step := range steps {
			result = Worse(result, Step(o.Got[step], errors...))
		}
		if len(steps) == 1 {
			return result, o.Got[steps[0]]
		}
		return result, o.String()
	}
}

// Step judges the result of one step, where only some errors prove that something is out of reach.
func Step(result string, errors ...string) Result {
	switch {
	case slices.Contains(errors, result):
		return Pass
	case slices.Contains([]string{"timeout", "ETIMEDOUT", "EAGAIN", "ENOENT", "error", "unresolved"}, result):
		return Inconclusive // it may be slow, distant or down by now
	}
	return Fail // it was reached, or something answered
}

// Errors of connections. Only the container's own loopback may refuse one: any other refusal came over a network.
var (
	closedNetwork = []string{"ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "ENETDOWN", "EACCES", "EPERM"}
	closedZone    = append([]string{"EINVAL", "ENODEV"}, closedNetwork...) // an interface that does not exist

	// SocketClosed are the errors of a unix socket that cannot be reached.
	SocketClosed = []string{"ENOENT", "ENOTDIR", "ECONNREFUSED", "EACCES", "EPERM"}
	// FIFOClosed are the errors of a FIFO that cannot be opened.
	FIFOClosed = append([]string{"ENXIO"}, canary.Unwritable...)
)

// HostClosed returns the errors of a host that cannot be reached.
func HostClosed(host string) []string {
	at, err := netip.ParseAddr(host)
	switch {
	case err != nil && LocalName(host), err == nil && at.IsLoopback(), err == nil && at.IsUnspecified():
		return canary.LoopbackClosed
	case err != nil:
		return append([]string{"unresolved"}, closedNetwork...)
	case at.Zone() != "":
		return closedZone
	}
	return closedNetwork
}

// LocalName reports whether a name is in the container's own hosts file.
func LocalName(name string) bool {
	return slices.Contains([]string{"localhost", "ip6-localhost", "ip6-loopback", "scidex"}, strings.ToLower(strings.TrimSuffix(name, ".")))
}

// NothingCreated requires no file in any directory.
func NothingCreated(o canary.Outcome) (Result, string) {
	switch {
	case len(o.Got) > 0:
		return Fail, o.String()
	case o.Count == 0:
		return Fail, "the canary looked at no directory"
	case o.Partial:
		return Inconclusive, fmt.Sprintf("read-only, but only the first %d directories were tried", o.Count)
	}
	return Pass, fmt.Sprintf("%d directories, all read-only", o.Count)
}
