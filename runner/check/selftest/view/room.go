package view

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/spec"
)

// What a canary needs: the Go runtime needs some megabytes, a dozen threads and, under an rlimit, which counts their stacks
// in full, much address space that it never touches.
const (
	minMemory  = 64 * spec.MiB
	minData    = 256 * spec.MiB
	minPids    = 40
	minFiles   = 20
	minCPUs    = 0.5
	minTimeout = spec.Duration(canary.MaxLife)
)

// WithRoom raises limits that are too low for a canary. What it reaches does not depend on them; separate runs prove that
// limits hold.
func WithRoom(a spec.Analysis) spec.Analysis {
	a = defaults(a)
	a.Memory = max(a.Memory, minMemory)
	if a.Limits == spec.LimitsBestEffort {
		a.Memory = max(a.Memory, minData)
	}
	a.Pids, a.WorkFiles = max(a.Pids, minPids), max(a.WorkFiles, minFiles)
	if a.CPUs != 0 {
		a.CPUs = max(a.CPUs, minCPUs)
	}
	a.Timeout = max(a.Timeout, minTimeout)
	return a
}

// defaults sets defaults, except the number of CPUs: where that cannot be enforced, a run with the default starts and a run
// that requests the same number is refused.
func defaults(a spec.Analysis) spec.Analysis {
	cpus := a.CPUs
	a = a.WithDefaults()
	a.CPUs = cpus
	return a
}

// RoomNotes say which limits are higher for canaries than for the caller's runs.
func RoomNotes(asked spec.Analysis) (notes []string) {
	given := WithRoom(asked)
	for _, limit := range []struct{ name, asked, given string }{
		{"memory", asked.Memory.String(), given.Memory.String()},
		{"pids", fmt.Sprint(asked.Pids), fmt.Sprint(given.Pids)},
		{"cpus", fmt.Sprint(asked.CPUs), fmt.Sprint(given.CPUs)},
		{"timeout", asked.Timeout.String(), given.Timeout.String()},
	} {
		if limit.asked != limit.given {
			notes = append(notes, fmt.Sprintf("the canaries had %s %s in place of %s, because they may need it; that limits hold is proven by runs of their own", limit.name, limit.given, limit.asked))
		}
	}
	return notes
}
