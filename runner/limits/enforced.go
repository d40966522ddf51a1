package limits

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/spec"
)

// groupLimits are the limits of an analysis' control group.
func groupLimits(a spec.Analysis, parent *cgroup.Parent) cgroup.Limits {
	limits := cgroup.Limits{Memory: int64(a.Memory), CPUs: a.CPUs, Pids: a.Pids}
	if !parent.CPU {
		limits.CPUs = 0
	}
	return limits
}

// enforcedBy lists who enforces which limit. got is what the kernel read back; nil if there is no control group, and then
// memory and pids are rlimits: per process, not for all together.
func enforcedBy(a spec.Analysis, got *cgroup.Limits) []result.Enforcement {
	memory, cpus, pids := strconv.FormatInt(int64(a.Memory), 10), number(a.CPUs), strconv.FormatInt(a.Pids, 10)
	list := []result.Enforcement{
		{Limit: "memory", Asked: memory, Effective: atMost(int64(a.Memory), unix.RLIMIT_DATA), By: result.ByRlimit},
		{Limit: "cpus", Asked: cpus, Effective: "", By: result.ByNone},
		{Limit: "pids", Asked: pids, Effective: atMost(a.Pids, unix.RLIMIT_NPROC), By: result.ByRlimit},
	}
	if got != nil {
		list[0].Effective, list[0].By = strconv.FormatInt(got.Memory, 10), result.ByCgroup
		list[2].Effective, list[2].By = strconv.FormatInt(got.Pids, 10), result.ByCgroup
		if got.CPUs > 0 {
			list[1].Effective, list[1].By = number(got.CPUs), result.ByCgroup
		}
	}
	half := strconv.FormatInt(int64(a.Memory)/2, 10)
	timeout, logSize := time.Duration(a.Timeout).String(), strconv.FormatInt(int64(a.LogSize), 10)
	return append(append(list, workEnforced(a)...),
		result.Enforcement{Limit: "timeout", Asked: timeout, Effective: timeout, By: result.ByWatchdog},
		result.Enforcement{Limit: "log_size", Asked: logSize, Effective: logSize, By: result.ByWatchdog},
		result.Enforcement{Limit: "tmp", Asked: half, Effective: half, By: result.ByTmpfs},
	)
}

// workEnforced says who holds the bounds of /work.
func workEnforced(a spec.Analysis) []result.Enforcement {
	size, files := int64(a.WorkSize), strconv.FormatInt(a.WorkFiles, 10)
	effective, by := size, result.ByWatchdog
	if a.WorkStorage == spec.WorkTmpfs {
		page := int64(unix.Getpagesize())
		effective, by = (size+page-1)/page*page, result.ByTmpfs
	}
	return []result.Enforcement{
		{Limit: "work_size", Asked: strconv.FormatInt(size, 10), Effective: strconv.FormatInt(effective, 10), By: by},
		{Limit: "work_files", Asked: files, Effective: files, By: by},
	}
}

// atMost returns a value capped by the caller's hard limit, which cannot be raised here.
func atMost(asked int64, resource int) string {
	var own unix.Rlimit
	if err := unix.Getrlimit(resource, &own); err == nil && uint64(asked) > own.Max {
		asked = int64(own.Max)
	}
	return strconv.FormatInt(asked, 10)
}

// number formats CPUs in the shortest form that reads back.
func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Unheld warns in a line of limits that no control group holds; docs/limits.md explains it.
func Unheld(list []result.Enforcement) []string {
	var parts []string
	for _, e := range list {
		switch {
		case e.Limit == "memory" && e.By == result.ByRlimit:
			parts = append(parts, "the memory limit holds for each process by itself, and not for shared memory, /tmp and /dev/shm")
		case e.Limit == "cpus" && e.By == result.ByNone:
			parts = append(parts, "CPUs are not limited")
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"best effort: " + strings.Join(parts, "; ")}
}

// Inherited warns of the caller's hard limits, which hold for the analysis too: a supervisor cannot raise them (getrlimit(2)).
func Inherited() []string {
	var warnings []string
	for _, l := range []struct {
		resource int
		option   string // of the shell's ulimit
		what     string
	}{
		{unix.RLIMIT_CPU, "-t", "seconds of CPU time for each process"},
		{unix.RLIMIT_FSIZE, "-f", "bytes for each file"},
		{unix.RLIMIT_AS, "-v", "bytes of address space for each process"},
		{unix.RLIMIT_DATA, "-d", "bytes of private memory for each process"},
	} {
		var own unix.Rlimit
		if err := unix.Getrlimit(l.resource, &own); err == nil && own.Max != unix.RLIM_INFINITY {
			warnings = append(warnings, fmt.Sprintf("the caller's own limit (ulimit %s) holds for the analysis too: %d %s", l.option, own.Max, l.what))
		}
	}
	return warnings
}
