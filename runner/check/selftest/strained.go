package selftest

import (
	"fmt"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// step returns the outcome of a try with one step; "" where the canary did not live to tell.
func (s strained) step(n int, name string) (said string, count int64) {
	if n >= len(s.outcomes) {
		return "", 0
	}
	return s.outcomes[n].Got[name], s.outcomes[n].Count
}

// told is what happened in place of the proof.
func (s strained) told() string {
	return fmt.Sprintf("the run ended as %s, %s: %s", s.result.State, s.result.Reason, s.result.Message)
}

// judgeMemory wants the kernel's counter where a control group holds the limit, and a refused request for
// memory where an rlimit does.
func judgeMemory(s strained) (Result, string) {
	said, taken := s.step(0, "take")
	at := s.asked.Memory
	switch {
	case enforcement(s.result, "memory").By != "cgroup":
		if said == "ENOMEM" && taken <= int64(at) {
			return Pass, fmt.Sprintf("at %s a process was refused more after %s; it holds for each process alone", at, spec.Size(taken))
		}
	case s.result.Reason == result.ReasonOutOfMemory && s.result.Evidence.OOMKills > 0:
		return Pass, fmt.Sprintf("at %s the kernel killed what took more", at)
	}
	return Fail, fmt.Sprintf("a run took more than %s: %s", at, s.told())
}

func judgePids(s strained) (Result, string) {
	said, made := s.step(0, "fork")
	at := s.asked.Pids
	switch {
	case enforcement(s.result, "pids").By != "cgroup":
		if said == "EAGAIN" && made <= at {
			return Pass, fmt.Sprintf("at %d a process was refused another after %d", at, made)
		}
	case s.result.Evidence.PidsDenied > 0 && s.result.Usage.PidsPeak <= at:
		return Pass, fmt.Sprintf("at %d the kernel refused another", at)
	}
	return Fail, fmt.Sprintf("a run had more than %d processes: %s", at, s.told())
}

// judgeCPUs compares the time that the kernel counted with the share of the clock; the quota is one of
// each tenth of a second, and the first may start late. Threads that wanted more came to the limit where the kernel held
// them up, or, where it does not count that, where they used all of it.
func judgeCPUs(s strained) (Result, string) {
	const slack = 150 // ms
	wall, used := s.result.Usage.WallMS, s.result.Usage.CPUMS
	share := int64(s.asked.CPUs*1.25*float64(wall)) + slack
	whole := int64(s.asked.CPUs * 0.8 * float64(wall))
	held := s.result.Evidence
	text := fmt.Sprintf("at %g a run with more threads used %d ms of %d ms and was held up in %d of %d periods", s.asked.CPUs, used, wall, held.ThrottledPeriods, held.Periods)
	switch {
	case used == 0 || used > share || wall+slack < burnTime.Milliseconds(): // on a busy host the start is seen late
		return Fail, text + ": " + s.told()
	case held.ThrottledPeriods == 0 && (held.Periods > 0 || used < whole):
		return Inconclusive, text + ": the host was too busy to come to the limit"
	}
	return Pass, text
}

func judgeTmp(s strained) (Result, string) {
	said, written := s.step(0, "write")
	half := int64(s.asked.Memory / 2)
	if said == "ENOSPC" && written <= half && written > half/2 {
		return Pass, fmt.Sprintf("at %s no more than %s went in", spec.Size(half), spec.Size(written))
	}
	return Fail, fmt.Sprintf("%s were written to a /tmp of %s (%q): %s", spec.Size(written), spec.Size(half), said, s.told())
}

func judgeLogs(s strained) (Result, string) {
	log := s.result.Logs.Stderr
	if log.Truncated && log.Bytes >= int64(2*s.asked.LogSize) {
		return Pass, fmt.Sprintf("at %s the rest of %s was dropped", s.asked.LogSize, spec.Size(log.Bytes))
	}
	return Fail, fmt.Sprintf("a log of %s was not cut at %s: %s", spec.Size(log.Bytes), s.asked.LogSize, s.told())
}

// judgeWorkSize wants a tmpfs to refuse, and of a watchdog that it has seen too much and ended the run.
func judgeWorkSize(s strained) (Result, string) {
	said, piled := s.step(0, "write")
	at := s.asked.WorkSize
	switch {
	case enforcement(s.result, "work_size").By == "tmpfs":
		if most := int64(at) / pileBytes; said == "ENOSPC" && piled <= most && piled > most/2 {
			return Pass, fmt.Sprintf("at %s no more than %s went in", at, spec.Size(piled*pileBytes))
		}
	case s.result.Reason == result.ReasonWorkFull && s.result.Evidence.WorkBytes > int64(at):
		return Pass, fmt.Sprintf("at %s a run was ended that took %d bytes", at, s.result.Usage.WorkBytes)
	}
	return Fail, fmt.Sprintf("a run took more than %s of /work: %s", at, s.told())
}

func judgeWorkFiles(s strained) (Result, string) {
	said, made := s.step(0, "write")
	at := s.asked.WorkFiles
	switch {
	case enforcement(s.result, "work_files").By == "tmpfs":
		if said == "ENOSPC" && made <= at && made > at/2 {
			return Pass, fmt.Sprintf("at %d no more than %d names went in", at, made)
		}
	case s.result.Reason == result.ReasonWorkFull && s.result.Evidence.WorkFiles > at:
		return Pass, fmt.Sprintf("at %d a run was ended that had %d names", at, s.result.Usage.WorkFiles)
	}
	return Fail, fmt.Sprintf("a run had more than %d names in /work: %s", at, s.told())
}

// judgeTimeout allows a busy host some time beyond the timeout and the grace period.
func judgeTimeout(s strained) (Result, string) {
	const slack = 5 * time.Second
	most := time.Duration(s.asked.Timeout) + time.Duration(s.asked.Grace) + slack
	wall := time.Duration(s.result.Usage.WallMS) * time.Millisecond
	if s.result.Reason == result.ReasonTimeout && wall <= most {
		return Pass, fmt.Sprintf("at %v a run that ignores SIGTERM was ended after %v", s.asked.Timeout, wall)
	}
	return Fail, fmt.Sprintf("a run was not ended after %v: %s", s.asked.Timeout, s.told())
}
