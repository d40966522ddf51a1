package judge

import (
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Load is a run that exceeded its limits.
type Load struct {
	Asked    spec.Analysis
	Outcomes []canary.Outcome // nil where the canary was killed before it answered
	Result   result.Result
}

// HeldBy returns what held a limit of a run; the zero Enforcement where its result does not say.
func HeldBy(r result.Result, limit string) result.Enforcement {
	for _, e := range r.Enforced {
		if e.Limit == limit {
			return e
		}
	}
	return result.Enforcement{}
}

// step returns the result and the count of an attempt with one step; "" where the canary did not answer.
func (l Load) step(n int, name string) (got string, count int64) {
	if n >= len(l.Outcomes) {
		return "", 0
	}
	return l.Outcomes[n].Got[name], l.Outcomes[n].Count
}

// ending describes how the run ended, where that proves nothing.
func (l Load) ending() string {
	return fmt.Sprintf("the run ended as %s, %s: %s", l.Result.State, l.Result.Reason, l.Result.Message)
}

// Memory wants the kernel's counter where a control group holds the limit, and a refused request where an rlimit does.
func Memory(l Load) (Result, string) {
	got, taken := l.step(0, "take")
	at := l.Asked.Memory
	switch {
	case HeldBy(l.Result, "memory").By != "cgroup":
		if got == "ENOMEM" && taken <= int64(at) {
			return Pass, fmt.Sprintf("at %s a process was refused more after %s; it holds for each process alone", at, spec.Size(taken))
		}
	case l.Result.Reason == result.ReasonOutOfMemory && l.Result.Evidence.OOMKills > 0:
		return Pass, fmt.Sprintf("at %s the kernel killed what took more", at)
	}
	return Fail, fmt.Sprintf("a run took more than %s: %s", at, l.ending())
}

// Pids wants the same as Memory.
func Pids(l Load) (Result, string) {
	got, made := l.step(0, "fork")
	at := l.Asked.Pids
	switch {
	case HeldBy(l.Result, "pids").By != "cgroup":
		if got == "EAGAIN" && made <= at {
			return Pass, fmt.Sprintf("at %d a process was refused another after %d", at, made)
		}
	case l.Result.Evidence.PidsDenied > 0 && l.Result.Usage.PidsPeak <= at:
		return Pass, fmt.Sprintf("at %d the kernel refused another", at)
	}
	return Fail, fmt.Sprintf("a run had more than %d processes: %s", at, l.ending())
}

// CPUs compares the processor time that the kernel counted with the share of the wall time. The quota applies to each tenth
// of a second, and the first may start late. The threads reached the limit where the kernel throttled them or, where it does
// not count that, where they used all of the share.
func CPUs(l Load) (Result, string) {
	const slack = 150 // ms
	wall, used := l.Result.Usage.WallMS, l.Result.Usage.CPUMS
	share := int64(l.Asked.CPUs*1.25*float64(wall)) + slack
	whole := int64(l.Asked.CPUs * 0.8 * float64(wall))
	held := l.Result.Evidence
	text := fmt.Sprintf("at %g a run with more threads used %d ms of %d ms and was held up in %d of %d periods", l.Asked.CPUs, used, wall, held.ThrottledPeriods, held.Periods)
	switch {
	case used == 0 || used > share || wall+slack < canary.BusyTime.Milliseconds(): // a busy host notices the start late
		return Fail, text + ": " + l.ending()
	case held.ThrottledPeriods == 0 && (held.Periods > 0 || used < whole):
		return Inconclusive, text + ": the host was too busy to come to the limit"
	}
	return Pass, text
}

// Tmp wants a tmpfs to refuse more than half of the memory.
func Tmp(l Load) (Result, string) {
	got, written := l.step(0, "write")
	half := int64(l.Asked.Memory / 2)
	if got == "ENOSPC" && written <= half && written > half/2 {
		return Pass, fmt.Sprintf("at %s no more than %s went in", spec.Size(half), spec.Size(written))
	}
	return Fail, fmt.Sprintf("%s were written to a /tmp of %s (%q): %s", spec.Size(written), spec.Size(half), got, l.ending())
}

// Logs requires a truncated log, by the launcher's count.
func Logs(l Load) (Result, string) {
	log := l.Result.Logs.Stderr
	if log.Truncated && log.Bytes >= int64(2*l.Asked.LogSize) {
		return Pass, fmt.Sprintf("at %s the rest of %s was dropped", l.Asked.LogSize, spec.Size(log.Bytes))
	}
	return Fail, fmt.Sprintf("a log of %s was not cut at %s: %s", spec.Size(log.Bytes), l.Asked.LogSize, l.ending())
}

// WorkSize wants a tmpfs to refuse more, or a watchdog to have seen too much and ended the run.
func WorkSize(l Load) (Result, string) {
	got, piled := l.step(0, "write")
	at := l.Asked.WorkSize
	switch {
	case HeldBy(l.Result, "work_size").By == "tmpfs":
		if most := int64(at) / canary.FileBytes; got == "ENOSPC" && piled <= most && piled > most/2 {
			return Pass, fmt.Sprintf("at %s no more than %s went in", at, spec.Size(piled*canary.FileBytes))
		}
	case l.Result.Reason == result.ReasonWorkFull && l.Result.Evidence.WorkBytes > int64(at):
		return Pass, fmt.Sprintf("at %s a run was ended that took %d bytes", at, l.Result.Usage.WorkBytes)
	}
	return Fail, fmt.Sprintf("a run took more than %s of /work: %s", at, l.ending())
}

// WorkFiles wants the same as WorkSize.
func WorkFiles(l Load) (Result, string) {
	got, made := l.step(0, "write")
	at := l.Asked.WorkFiles
	switch {
	case HeldBy(l.Result, "work_files").By == "tmpfs":
		if got == "ENOSPC" && made <= at && made > at/2 {
			return Pass, fmt.Sprintf("at %d no more than %d names went in", at, made)
		}
	case l.Result.Reason == result.ReasonWorkFull && l.Result.Evidence.WorkFiles > at:
		return Pass, fmt.Sprintf("at %d a run was ended that had %d names", at, l.Result.Usage.WorkFiles)
	}
	return Fail, fmt.Sprintf("a run had more than %d names in /work: %s", at, l.ending())
}

// Timeout allows a busy host some time beyond the timeout and the grace period.
func Timeout(l Load) (Result, string) {
	const slack = 5 * time.Second
	most := time.Duration(l.Asked.Timeout) + time.Duration(l.Asked.Grace) + slack
	wall := time.Duration(l.Result.Usage.WallMS) * time.Millisecond
	if l.Result.Reason == result.ReasonTimeout && wall <= most {
		return Pass, fmt.Sprintf("at %v a run that ignores SIGTERM was ended after %v", l.Asked.Timeout, wall)
	}
	return Fail, fmt.Sprintf("a run was not ended after %v: %s", l.Asked.Timeout, l.ending())
}
