package selftest

import (
	"math"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A limit is tested with the caller's value where that is small, and otherwise with one of these, with which the same mechanism
// does no harm to the host. The kernel's copy of the caller's value is read back for each run.
const (
	maxMemory  = 256 * spec.MiB
	maxPids    = 200
	maxWork    = 16 * spec.MiB
	maxFiles   = 500
	maxCPUs    = 0.05 // a busy host has as much left
	maxTimeout = 2 * time.Second
	maxLog     = 64 * spec.KiB
)

// judgeLoad judges a limit by a run that exceeded it.
type judgeLoad func(judge.Load) (judge.Result, string)

// limitTest is a run that exceeds limits.
type limitTest struct {
	role     string
	shrink   func(*spec.Analysis)
	attempts func(spec.Analysis) []canary.Attempt
	linger   bool
	judges   map[string]judgeLoad // by the name of a limit in the result's enforced
}

// limitTests are the tests of all limits that this version has.
func limitTests() []limitTest {
	return []limitTest{
		{
			role:   "memory",
			shrink: func(a *spec.Analysis) { a.Memory = min(a.Memory, maxMemory) },
			attempts: func(a spec.Analysis) []canary.Attempt {
				return []canary.Attempt{{Do: "memory", With: strconv.FormatInt(int64(a.Memory+a.Memory/2), 10)}}
			},
			judges: map[string]judgeLoad{"memory": judge.Memory},
		},
		{
			role:   "pids",
			shrink: func(a *spec.Analysis) { a.Pids = min(a.Pids, maxPids) },
			attempts: func(a spec.Analysis) []canary.Attempt {
				return []canary.Attempt{{Do: "fork", With: strconv.FormatInt(a.Pids+1, 10)}}
			},
			judges: map[string]judgeLoad{"pids": judge.Pids},
		},
		{
			role:   "cpus",
			shrink: func(a *spec.Analysis) { a.CPUs = min(a.WithDefaults().CPUs, maxCPUs) },
			attempts: func(a spec.Analysis) []canary.Attempt {
				return []canary.Attempt{{Do: "cpus", With: strconv.Itoa(int(math.Ceil(a.CPUs)) + 1)}}
			},
			judges: map[string]judgeLoad{"cpus": judge.CPUs},
		},
		{
			role:   "work",
			shrink: func(a *spec.Analysis) { a.WorkSize = min(a.WorkSize, maxWork) },
			attempts: func(a spec.Analysis) []canary.Attempt {
				return []canary.Attempt{{Do: "files", At: "/work", With: strconv.FormatInt(int64(2*a.WorkSize/canary.FileBytes), 10)}}
			},
			judges: map[string]judgeLoad{"work_size": judge.WorkSize},
		},
		{
			role:   "names",
			shrink: func(a *spec.Analysis) { a.WorkFiles = min(a.WorkFiles, maxFiles) },
			attempts: func(a spec.Analysis) []canary.Attempt {
				return []canary.Attempt{{Do: "empty files", At: "/work", With: strconv.FormatInt(2*a.WorkFiles, 10)}}
			},
			judges: map[string]judgeLoad{"work_files": judge.WorkFiles},
		},
		{
			role: "scratch", linger: true,
			shrink: func(a *spec.Analysis) {
				a.Memory, a.LogSize = min(a.Memory, maxMemory), min(a.LogSize, maxLog)
				a.WorkSize = max(a.WorkSize, a.Memory) // which also bounds a file in /tmp
				a.Timeout, a.Grace = spec.Duration(maxTimeout), min(a.Grace, spec.Duration(200*time.Millisecond))
			},
			attempts: func(a spec.Analysis) []canary.Attempt {
				return []canary.Attempt{
					{Do: "file", At: "/tmp", With: strconv.FormatInt(int64(a.Memory), 10)},
					{Do: "stderr", With: strconv.FormatInt(int64(2*a.LogSize), 10)},
				}
			},
			judges: map[string]judgeLoad{"tmp": judge.Tmp, "log_size": judge.Logs, "timeout": judge.Timeout},
		},
	}
}
