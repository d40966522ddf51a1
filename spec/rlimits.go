package spec

import (
	"math"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// defaultNoFile is enough for every library that opens a descriptor per file or worker, and few
// enough for programs that close all of them one by one.
const defaultNoFile = 65536

// withRlimits sets all limits of getrlimit(2), so that none is inherited from whoever started us; what
// the caller's own hard limit forbids to raise stays there, and the runner says so.
//
// Best effort adds what the kernel offers a process without a control group: RLIMIT_NPROC counts
// processes and threads of the user namespace's id. RLIMIT_DATA bounds the private writable memory of
// each process (getrlimit(2); since Linux 4.7 mappings count, not the heap alone); RLIMIT_AS would
// count reserved address space too, and Go, Java, CUDA and sanitizers reserve far more than they use.
//
// With outer neither is set: someone else's groups hold, and a bound of ours beside them would end what they
// allow (RLIMIT_DATA counts the stacks of threads in full) and be the limit that the result has to name.
func withRlimits(a Analysis, place Placement, s *specs.Spec) error {
	noFile := place.NoFile
	if noFile == 0 {
		noFile = defaultNoFile
	}
	limits := []specs.POSIXRlimit{
		// One byte is less than any core file, and the kernel's word for "not into a pipe either": with 0 a
		// handler of the host (core_pattern) would run as its root for each crash (core(5), fs/coredump.c).
		rlimit("RLIMIT_CORE", 1),
		rlimit("RLIMIT_MEMLOCK", 64<<10),
		rlimit("RLIMIT_MSGQUEUE", 819200), // bytes; the kernel's own default (getrlimit(2))
		rlimit("RLIMIT_NICE", 0),
		rlimit("RLIMIT_NOFILE", noFile),
		rlimit("RLIMIT_RTPRIO", 0),
		rlimit("RLIMIT_SIGPENDING", 4096), // signals queued by all processes of the id
	}
	if a.WorkStorage == WorkDisk {
		limits = append(limits, rlimit("RLIMIT_FSIZE", uint64(a.WorkSize+fileSlack)))
	}
	if a.Limits == LimitsBestEffort {
		limits = append(limits, rlimit("RLIMIT_DATA", uint64(a.Memory)), rlimit("RLIMIT_NPROC", uint64(a.Pids)))
	}
	if !place.Portable { // an older runtime fails where it may not raise one
		limits = append(limits, unlimited(limits)...)
		// Threads get as much as the soft limit says, so it is not infinite; numerical code in Fortran
		// raises its own.
		limits = append(limits, specs.POSIXRlimit{Type: "RLIMIT_STACK", Soft: 8 << 20, Hard: infinity})
	}
	s.Process.Rlimits = limits
	return nil
}

// fileSlack is how far a single file of /work can go beyond the bound, so that a run which passes it is seen
// to have done so and does not end at it by chance. The limit is each file's, in /tmp and /dev/shm too: the
// one that writes past it gets SIGXFSZ or EFBIG (setrlimit(2)). A tmpfs needs none, its own size holds.
const fileSlack = MiB

const infinity = math.MaxUint64 // RLIM_INFINITY

// unlimited are the other limits: what they would bound, control groups and the clock do.
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

// rlimit sets soft and hard alike, so that the analysis cannot raise it.
func rlimit(name string, value uint64) specs.POSIXRlimit {
	return specs.POSIXRlimit{Type: name, Soft: value, Hard: value}
}
