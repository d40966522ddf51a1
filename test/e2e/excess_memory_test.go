package e2e

import (
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// killed is the end of a run by the kernel's OOM killer: its counter is the evidence, and every process ends, also
// those that used little memory.
var killed = ended{"failed", "out_of_memory", 137, "SIGKILL", func(t *testing.T, r result) {
	t.Helper()
	if r.Evidence.OOMKills < 1 {
		t.Errorf("evidence %+v", r.Evidence)
	}
	reachedLimit(t, r)
}}

// reachedLimit: memory was used up to the limit and not beyond.
func reachedLimit(t *testing.T, r result) {
	t.Helper()
	limit, err := strconv.ParseInt(r.enforcement("memory").Effective, 10, 64)
	if peak := r.Usage.MemoryPeakBytes; err != nil || peak > limit || peak < limit*3/4 {
		t.Errorf("at most %d bytes were in use, of %d", peak, limit)
	}
}

// denied: the allocation fails, and the analysis ends by itself.
func denied(code int, signal string) ended {
	e := ended{"failed", "exit", code, signal, notOutOfMemory}
	if signal != "" {
		e.reason = "signal"
	}
	return e
}

// unbounded is memory that an rlimit does not bound, as the result warns.
var unbounded = well(func(t *testing.T, r result) {
	t.Helper()
	if said := strings.Join(r.Warnings, " "); !strings.Contains(said, "not for shared memory, /tmp and /dev/shm") {
		t.Errorf("no warning in %q", r.Warnings)
	}
})

// reclaimed: the kernel takes pages of files back before it kills anyone. The page cache counts as the run's memory,
// since it filled the limit.
var reclaimed = well(func(t *testing.T, r result) {
	t.Helper()
	if r.Evidence.OOMKills != 0 {
		t.Errorf("evidence %+v", r.Evidence)
	}
	if theHost.cgroup {
		reachedLimit(t, r)
	}
})

// hoards want more memory than 32 MiB.
var hoards = map[string]excess{
	"anonymous":      {args: flags("anonymous", "64"), cgroup: killed, rlimits: denied(1, "")},
	"shared":         {args: flags("shared", "64"), cgroup: killed, rlimits: unbounded},
	"a memfd":        {args: flags("memfd", "64"), cgroup: killed, rlimits: unbounded},
	"System V":       {args: flags("sysv", "64"), cgroup: killed, rlimits: unbounded},
	"many children":  {args: flags("children", "64"), cgroup: killed, rlimits: unbounded},
	"home":           {args: flags("home", "64"), cgroup: killed, rlimits: unbounded},
	"two tmpfs":      {args: flags("tmpfs", "15"), cgroup: killed, rlimits: unbounded}, // each has 16 MiB
	"a tmpfs":        {args: flags("tmp", "17"), cgroup: denied(1, ""), rlimits: denied(1, "")},
	"POSIX":          {args: flags("posix", "17"), cgroup: denied(135, "SIGBUS"), rlimits: denied(135, "SIGBUS")},
	"the page cache": {args: flags("page_cache", "64"), cgroup: reclaimed, rlimits: reclaimed},
	"exit 137":       {args: flags("page_cache", "40", "137"), cgroup: denied(137, ""), rlimits: denied(137, "")},
	"SIGKILL":        {args: flags("page_cache", "40", "SIGKILL"), cgroup: denied(137, "SIGKILL"), rlimits: denied(137, "SIGKILL")},
	// Its parent would go on for ever. An rlimit kills nobody.
	"a child": {args: flags("parent", "64"), cgroup: killed, rlimits: well(notOutOfMemory)},
}

func TestHoards(t *testing.T) {
	h := newHarness(t)
	beside := h.newSibling()
	for name, x := range hoards {
		x.program, x.flags = "limits/memory.py", flags("--memory=32MiB", "--pids=50", "--cpus=2")
		t.Run(name, func(t *testing.T) { h.exceed(t, x, beside) })
	}
	beside.finish(t)
}

func TestHoardsWorkOutside(t *testing.T) {
	for name, x := range hoards {
		if x.args[0] == "posix" || len(x.args) > 2 { // which is their end outside too
			continue
		}
		t.Run(name, func(t *testing.T) {
			if err := outdo(t, "limits/memory.py", x.args...); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChildOutOfMemory: if only a child was killed, and the analysis ended well before the rest was killed, the run is
// complete with a warning. On cgroup v1 that needs a slow launcher; on v2 the kernel kills all at once.
func TestChildOutOfMemory(t *testing.T) {
	if !theHost.cgroup || unified() {
		t.Log("not covered here: it takes cgroup v1 and its limits; the tests as root on such a machine do")
		return
	}
	h := newHarness(t)
	beside := h.newSibling()
	start := h.flag()
	l := h.launchProgram(start, flags("--memory=32MiB"), "limits/memory.py", "child", "64")
	l.await("ready")
	all := l.family()
	l.signal(syscall.SIGSTOP)
	start.raise()
	// The init ends when it has reported the end of the analysis: a kill from here on is too late.
	init := slices.IndexFunc(all, func(w watched) bool { return strings.HasPrefix(w.command, initProgram) })
	until(t, hangTimeout, "the analysis and its init end", func() bool { return !all[init].alive() })
	l.signal(syscall.SIGCONT)
	r := l.wait()
	if !strings.Contains(strings.Join(r.Warnings, " "), "the kernel killed 1 process ") || r.Evidence.OOMKills != 1 {
		t.Errorf("warnings %q, evidence %+v", r.Warnings, r.Evidence)
	}
	r.expect(t, "complete", "exit", 0)
	if o := r.output("before"); o.Size == 0 || !o.Partial { // of which process it was is not known
		t.Errorf("output %+v", o)
	}
	if got := h.stdoutOf(r); got != "ready\nthe child ended with 9\n" {
		t.Errorf("it says %q", got)
	}
	expectGone(t, all, l.id)
	h.expectNothingOf(t, r)
	beside.expectUntouched(t)
	beside.finish(t)
}
