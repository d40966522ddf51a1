package selftest

import (
	"math"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/spec"
)

// A limit is tested with the caller's value where that is small, and otherwise with one of these, with which the same
// mechanism does not harm the host. The kernel's copy of the caller's value is read back for each run.
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
	role string
	// exceed lowers the limits of the run and returns the attempts that exceed them.
	exceed func(*spec.Analysis) []canary.Attempt
	linger bool
	judges map[string]judgeLoad // by the name of a limit in the result's enforced
}

// attempt at a path with an amount.
func attempt(do, at string, amount int64) canary.Attempt {
	return canary.Attempt{Do: do, At: at, With: strconv.FormatInt(amount, 10)}
}

// limitTests returns the tests of all limits of this version.
func limitTests() []limitTest {
	return []limitTest{
		{
			role: "memory",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Memory = min(a.Memory, maxMemory)
				return []canary.Attempt{attempt("memory", "", int64(a.Memory+a.Memory/2))}
			},
			judges: map[string]judgeLoad{"memory": judge.Memory},
		},
		{
			role: "pids",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Pids = min(a.Pids, maxPids)
				return []canary.Attempt{attempt("fork", "", a.Pids+1)}
			},
			judges: map[string]judgeLoad{"pids": judge.Pids},
		},
		{
			role: "cpus",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.CPUs = min(a.WithDefaults().CPUs, maxCPUs)
				return []canary.Attempt{attempt("cpus", "", int64(math.Ceil(a.CPUs))+1)}
			},
			judges: map[string]judgeLoad{"cpus": judge.CPUs},
		},
		{
			role: "work",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.WorkSize = min(a.WorkSize, maxWork)
				return []canary.Attempt{attempt("files", "/work", int64(2*a.WorkSize/canary.FileBytes))}
			},
			judges: map[string]judgeLoad{"work_size": judge.WorkSize},
		},
		{
			role: "names",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.WorkFiles = min(a.WorkFiles, maxFiles)
				return []canary.Attempt{attempt("empty files", "/work", 2*a.WorkFiles)}
			},
			judges: map[string]judgeLoad{"work_files": judge.WorkFiles},
		},
		{
			role: "scratch",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Memory, a.LogSize = min(a.Memory, maxMemory), min(a.LogSize, maxLog)
				a.WorkSize = max(a.WorkSize, a.Memory) // which also bounds a file in /tmp
				return []canary.Attempt{attempt("file", "/tmp", int64(a.Memory)), attempt("stderr", "", int64(2*a.LogSize))}
			},
			judges: map[string]judgeLoad{"tmp": judge.Tmp, "log_size": judge.Logs},
		},
		{
			role: "timeout", linger: true, // alone: on a busy host the other attempts may take longer
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Timeout, a.Grace = spec.Duration(maxTimeout), min(a.Grace, spec.Duration(200*time.Millisecond))
				return nil
			},
			judges: map[string]judgeLoad{"timeout": judge.Timeout},
		},
	}
}
