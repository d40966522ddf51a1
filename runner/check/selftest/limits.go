package selftest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// exceedLimits checks every limit in main, the result of a canary's run, by runs that exceed them.
func (s *examination) exceedLimits(ctx context.Context, main result.Result) error {
	tested := []string{}
	for _, lt := range limitTests() {
		tested = slices.AppendSeq(tested, maps.Keys(lt.judges))
		checks, err := s.limitChecks(ctx, main, lt)
		if err == nil {
			err = s.Check(ctx, checks...)
		}
		if err != nil {
			return err
		}
	}
	return s.Check(ctx, untestedLimits(main, tested)...)
}

// untestedLimits are the checks of limits that the result does not have and should, and of those that it has and no test knows.
func untestedLimits(main result.Result, tested []string) (all []check.Check) {
	for _, limit := range []string{"memory", "cpus", "pids", "timeout"} {
		if main.EnforcementOf(limit) == (result.Enforcement{}) {
			all = append(all, known("limit", limit, check.Fail, "the result of the run does not say who held it"))
		}
	}
	for _, e := range main.Enforced {
		if !slices.Contains(tested, e.Limit) {
			all = append(all, known("limit", e.Limit, check.Inconclusive, "held by "+e.By+", but this version knows no way to prove it"))
		}
	}
	return all
}

// limitChecks makes the run of a test and returns a check for each of its limits.
func (s *examination) limitChecks(ctx context.Context, main result.Result, lt limitTest) (all []check.Check, err error) {
	var exceeded *load
	for _, e := range main.Enforced {
		byLoad := lt.judges[e.Limit]
		if byLoad == nil {
			continue
		}
		target := e.Limit + " " + readable(e.Limit, e.Effective)
		if e.By == "none" {
			all = append(all, unheld(e, s.view.Analysis.Limits))
			continue
		}
		if e.By == "outer" {
			all = append(all, known("limit", target, check.Inconclusive, "held by a control group that this program is in, too: to exceed it would be this program's end"))
			continue
		}
		if exceeded == nil {
			if exceeded, err = s.exceed(ctx, lt, strict(s.view.Analysis.Limits, main.Enforced)); err != nil {
				return nil, err
			}
		}
		status, seen := byLoad(*exceeded)
		seen = fmt.Sprintf("held by %s; %s", e.By, seen)
		if now := exceeded.Result.EnforcementOf(e.Limit); now.By != e.By {
			status, seen = check.Fail, fmt.Sprintf("held by %s in one run and by %q in another", e.By, now.By)
		}
		all = append(all, known("limit", target, status, seen))
	}
	return all, nil
}

// unheld is the check of an unenforced limit, which a caller who requests best effort accepts.
func unheld(e result.Enforcement, limits string) check.Check {
	target := e.Limit + " " + readable(e.Limit, e.Asked)
	if limits == spec.LimitsBestEffort {
		return known("limit", target, check.Accepted, "not enforced: nothing holds it, as --limits best-effort allows")
	}
	return known("limit", target, check.Fail, "nothing holds it")
}

// strict returns how the limits of a test's run are held. Best effort adds rlimits to a control group that holds all: they
// would refuse first, and say nothing of the group.
func strict(limits string, enforced []result.Enforcement) string {
	weak := func(e result.Enforcement) bool { return e.By == "none" || e.By == "rlimit" }
	if limits == spec.LimitsBestEffort && !slices.ContainsFunc(enforced, weak) {
		return spec.LimitsEnforce
	}
	return limits
}

// exceed runs the canary of a test.
func (s *examination) exceed(ctx context.Context, lt limitTest, limits string) (*load, error) {
	a := raised(s.view.Analysis)
	a.Limits = limits
	attempts := lt.exceed(&a)
	c, err := s.start(ctx, lt.role, a, canary.Orders{Attempts: attempts, Linger: lt.linger}, warm.Begin)
	if err == nil {
		err = c.wait()
	}
	if err != nil {
		return nil, err
	}
	l := &load{Asked: a, Result: c.Result}
	if line, err := c.line(ctx); err == nil && !c.stdout.excess {
		l.Outcomes, _ = canary.ParseAnswer(line, c.id, len(attempts)) // nil if it is not valid
	}
	return l, context.Cause(ctx)
}

// readable formats the value of a limit for a person.
func readable(limit, value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && result.InBytes(limit) {
		return spec.Size(n).String()
	}
	return value
}

// A limit is tested with the caller's value if that is small, and otherwise with one of these, with which the same
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
type judgeLoad func(load) (check.Status, string)

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
			judges: map[string]judgeLoad{"memory": exceededMemory},
		},
		{
			role: "pids",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Pids = min(a.Pids, maxPids)
				return []canary.Attempt{attempt("fork", "", a.Pids+1)}
			},
			judges: map[string]judgeLoad{"pids": exceededPids},
		},
		{
			role: "cpus",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.CPUs = min(a.WithDefaults().CPUs, maxCPUs)
				return []canary.Attempt{attempt("cpus", "", int64(math.Ceil(a.CPUs))+1)}
			},
			judges: map[string]judgeLoad{"cpus": exceededCPUs},
		},
		{
			role: "work",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.WorkSize = min(a.WorkSize, maxWork)
				return []canary.Attempt{attempt("files", "/work", int64(2*a.WorkSize/canary.FileBytes))}
			},
			judges: map[string]judgeLoad{"work_size": exceededWorkSize},
		},
		{
			role: "names",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.WorkFiles = min(a.WorkFiles, maxFiles)
				return []canary.Attempt{attempt("empty files", "/work", 2*a.WorkFiles)}
			},
			judges: map[string]judgeLoad{"work_files": exceededWorkFiles},
		},
		{
			role: "scratch",
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Memory, a.LogSize = min(a.Memory, maxMemory), min(a.LogSize, maxLog)
				a.WorkSize = max(a.WorkSize, a.Memory) // which also bounds a file in /tmp
				return []canary.Attempt{attempt("file", "/tmp", int64(a.Memory)), attempt("stderr", "", int64(2*a.LogSize))}
			},
			judges: map[string]judgeLoad{"tmp": exceededTmp, "log_size": exceededLogs},
		},
		{
			role: "timeout", linger: true, // alone: on a busy host the other attempts may take longer
			exceed: func(a *spec.Analysis) []canary.Attempt {
				a.Timeout, a.Grace = spec.Duration(maxTimeout), min(a.Grace, spec.Duration(200*time.Millisecond))
				return nil
			},
			judges: map[string]judgeLoad{"timeout": exceededTimeout},
		},
	}
}

// load is a run that exceeded its limits.
type load struct {
	Asked    spec.Analysis
	Outcomes []canary.Outcome // nil if the canary was killed before it answered
	Result   result.Result
}

// step returns the result and the count of the first attempt, which has one step; "" if the canary did not answer.
func (l load) step(name string) (got string, count int64) {
	if len(l.Outcomes) == 0 {
		return "", 0
	}
	return l.Outcomes[0].Got[name], l.Outcomes[0].Count
}

// ending describes how the run ended, if that proves nothing.
func (l load) ending() string {
	return fmt.Sprintf("the run ended as %s, %s: %s", l.Result.State, l.Result.Reason, l.Result.Message)
}

// exceededMemory wants the kernel's counter if a control group holds the limit, and a refused request if an rlimit does.
func exceededMemory(l load) (check.Status, string) {
	got, taken := l.step("take")
	at := l.Asked.Memory
	switch {
	case l.Result.EnforcementOf("memory").By != "cgroup":
		if got == "ENOMEM" && taken <= int64(at) {
			return check.Pass, fmt.Sprintf("at %s a process was refused more after %s; it holds for each process by itself", at, spec.Size(taken))
		}
	case l.Result.Reason == outcome.ReasonOutOfMemory && l.Result.Evidence.OOMKills > 0:
		return check.Pass, fmt.Sprintf("at %s the kernel killed what took more", at)
	}
	return check.Fail, fmt.Sprintf("a run took more than %s: %s", at, l.ending())
}

// exceededPids wants the same as exceededMemory.
func exceededPids(l load) (check.Status, string) {
	got, made := l.step("fork")
	at := l.Asked.Pids
	switch {
	case l.Result.EnforcementOf("pids").By != "cgroup":
		if got == "EAGAIN" && made <= at {
			return check.Pass, fmt.Sprintf("at %d a process was refused another after %d", at, made)
		}
	case l.Result.Evidence.PidsDenied > 0 && l.Result.Usage.PidsPeak <= at:
		return check.Pass, fmt.Sprintf("at %d the kernel refused another", at)
	}
	return check.Fail, fmt.Sprintf("a run had more than %d processes: %s", at, l.ending())
}

// exceededCPUs compares the processor time that the kernel counted with the share of the wall time. The quota applies to each tenth
// of a second, and the first may start late. The threads reached the limit if the kernel throttled them or, if it does
// not count that, if they used all of the share.
func exceededCPUs(l load) (check.Status, string) {
	const slack = 150 // ms
	wall, used := l.Result.Usage.WallMS, l.Result.Usage.CPUMS
	share := int64(l.Asked.CPUs*1.25*float64(wall)) + slack
	whole := int64(l.Asked.CPUs * 0.8 * float64(wall))
	held := l.Result.Evidence
	text := fmt.Sprintf("at %g a run with more threads used %d ms of %d ms and was held up in %d of %d periods", l.Asked.CPUs, used, wall, held.ThrottledPeriods, held.Periods)
	switch {
	case used == 0 || used > share || wall+slack < canary.BusyTime.Milliseconds(): // a busy host notices the start late
		return check.Fail, text + ": " + l.ending()
	case held.ThrottledPeriods == 0 && (held.Periods > 0 || used < whole):
		return check.Inconclusive, text + ": the host was too busy to come to the limit"
	}
	return check.Pass, text
}

// exceededTmp wants a tmpfs to refuse more than half of the memory.
func exceededTmp(l load) (check.Status, string) {
	got, written := l.step("write")
	half := int64(l.Asked.Memory / 2)
	if got == "ENOSPC" && written <= half && written > half/2 {
		return check.Pass, fmt.Sprintf("at %s no more than %s went in", spec.Size(half), spec.Size(written))
	}
	return check.Fail, fmt.Sprintf("%s were written to a /tmp of %s (%q): %s", spec.Size(written), spec.Size(half), got, l.ending())
}

// exceededLogs requires a truncated log, by the launcher's count.
func exceededLogs(l load) (check.Status, string) {
	log := l.Result.Logs.Stderr
	if log.Truncated && log.Bytes >= int64(2*l.Asked.LogSize) {
		return check.Pass, fmt.Sprintf("at %s the rest of %s was dropped", l.Asked.LogSize, spec.Size(log.Bytes))
	}
	return check.Fail, fmt.Sprintf("a log of %s was not cut at %s: %s", spec.Size(log.Bytes), l.Asked.LogSize, l.ending())
}

// exceededWorkSize wants a tmpfs to refuse more, or a watchdog to have seen too much and ended the run.
func exceededWorkSize(l load) (check.Status, string) {
	got, piled := l.step("write")
	at := l.Asked.WorkSize
	switch {
	case l.Result.EnforcementOf("work_size").By == "tmpfs":
		if most := int64(at) / canary.FileBytes; got == "ENOSPC" && piled <= most && piled > most/2 {
			return check.Pass, fmt.Sprintf("at %s no more than %s went in", at, spec.Size(piled*canary.FileBytes))
		}
	case l.Result.Reason == outcome.ReasonWorkFull && l.Result.Evidence.WorkBytes > int64(at):
		return check.Pass, fmt.Sprintf("at %s a run was ended that took %d bytes", at, l.Result.Usage.WorkBytes)
	}
	return check.Fail, fmt.Sprintf("a run took more than %s of /work: %s", at, l.ending())
}

// exceededWorkFiles wants the same as exceededWorkSize.
func exceededWorkFiles(l load) (check.Status, string) {
	got, made := l.step("write")
	at := l.Asked.WorkFiles
	switch {
	case l.Result.EnforcementOf("work_files").By == "tmpfs":
		if got == "ENOSPC" && made <= at && made > at/2 {
			return check.Pass, fmt.Sprintf("at %d no more than %d names went in", at, made)
		}
	case l.Result.Reason == outcome.ReasonWorkFull && l.Result.Evidence.WorkFiles > at:
		return check.Pass, fmt.Sprintf("at %d a run was ended that had %d names", at, l.Result.Usage.WorkFiles)
	}
	return check.Fail, fmt.Sprintf("a run had more than %d names in /work: %s", at, l.ending())
}

// exceededTimeout allows a busy host some time beyond the timeout and the grace period.
func exceededTimeout(l load) (check.Status, string) {
	const slack = 5 * time.Second
	most := time.Duration(l.Asked.Timeout) + time.Duration(l.Asked.Grace) + slack
	wall := time.Duration(l.Result.Usage.WallMS) * time.Millisecond
	if l.Result.Reason == outcome.ReasonTimeout && wall <= most {
		return check.Pass, fmt.Sprintf("at %v a run that ignores SIGTERM was ended after %v", l.Asked.Timeout, wall)
	}
	return check.Fail, fmt.Sprintf("a run was not ended after %v: %s", l.Asked.Timeout, l.ending())
}
