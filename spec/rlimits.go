package spec

import (
	"math"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// defaultNoFile suffices for libraries that open a descriptor per file or worker, and for programs that close all of them
// one by one.
const defaultNoFile = 65536

// withRlimits sets all limits of getrlimit(2), so that none is inherited; those that the caller's hard limit does not
// allow stay there, and the runner reports it.
//
// Best effort adds what the kernel offers without a control group: RLIMIT_NPROC counts processes and threads of the user
// namespace's id. RLIMIT_DATA bounds each process's private writable memory (getrlimit(2); since Linux 4.7 mappings
// count, not only the heap); RLIMIT_AS would count reserved address space too, and Go, Java, CUDA and sanitizers reserve
// far more than they use.
//
// With outer neither is set: outer groups hold, and these bounds would end what the groups allow (RLIMIT_DATA counts
// thread stacks in full) and be the limit that the result has to name.
func withRlimits(a Analysis, place Placement, s *specs.Spec) error {
	noFile := place.NoFile
	if noFile == 0 {
		noFile = defaultNoFile
	}
	limits := []specs.POSIXRlimit{
		// One byte is less than any core file, and tells the kernel "not into a pipe either": with 0, a handler of the
		// host (core_pattern) would run as its root for each crash (core(5), fs/coredump.c).
		rlimit("RLIMIT_CORE", 1),
		rlimit("RLIMIT_MEMLOCK", 64<<10),
		rlimit("RLIMIT_MSGQUEUE", 819200), // bytes; the kernel's default (getrlimit(2))
		rlimit("RLIMIT_NICE", 0),
		rlimit("RLIMIT_NOFILE", noFile),
		rlimit("RLIMIT_RTPRIO", 0),
		rlimit("RLIMIT_SIGPENDING", 4096), // signals queued for the id's processes
	}
	if a.WorkStorage == WorkDisk {
		limits = append(limits, rlimit("RLIMIT_FSIZE", uint64(a.WorkSize+fileSlack)))
	}
	if a.Limits == LimitsBestEffort {
		limits = append(limits, rlimit("RLIMIT_DATA", uint64(a.Memory)), rlimit("RLIMIT_NPROC", uint64(a.Pids)))
	}
	if !place.Portable { // an older runtime fails if it may not raise one
		limits = append(limits, unlimited(limits)...)
		// The soft limit is each thread's stack size, so it is not infinite; numerical Fortran code raises its own.
		limits = append(limits, specs.POSIXRlimit{Type: "RLIMIT_STACK", Soft: 8 << 20, Hard: infinity})
	}
	s.Process.Rlimits = limits
	return nil
}

// fileSlack is how far a file of /work can exceed the bound, so that a run over the bound is seen there and does not end
// at this limit by chance. The limit is per file, in /tmp and /dev/shm too: a write past it gets SIGXFSZ or EFBIG
// (setrlimit(2)). A tmpfs needs none, its size holds.
const fileSlack = MiB

const infinity = math.MaxUint64 // RLIM_INFINITY

// unlimited are the other limits: control groups and the timeout cover them.
func unlimited(set []specs.POSIXRlimit) (others []specs.POSIXRlimit) {
	for _, name := range []string{
		"RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_LOCKS", "RLIMIT_NPROC", "RLIMIT_RSS", "RLIMIT_RTTIME",
	} {
		if !slices.ContainsFunc(set, func(l specs.POSIXRlimit) bool { return l.Type == name }) {
			others = append(others, rlimit(name, infinity))
		}
	}
	return others
}

// rlimit sets soft and hard, so that the analysis cannot raise it.
func rlimit(name string, value uint64) specs.POSIXRlimit {
	return specs.POSIXRlimit{Type: name, Soft: value, Hard: value}
}
