package spec

import "github.com/opencontainers/runtime-spec/specs-go"

// defaultNoFile is enough for every library that opens a descriptor per file or worker, and few
// enough for programs that close all of them one by one.
const defaultNoFile = 65536

// withRlimits sets what would otherwise be inherited from whoever started us. RLIMIT_FSIZE comes with
// the bound on /work, which this version does not have.
//
// Best effort adds what the kernel offers a process without a control group: RLIMIT_NPROC counts
// processes and threads of the user namespace's id. RLIMIT_DATA bounds the private writable memory of
// each process (getrlimit(2); since Linux 4.7 mappings count, not the heap alone); RLIMIT_AS would
// count reserved address space too, and Go, Java, CUDA and sanitizers reserve far more than they use.
func withRlimits(a Analysis, place Placement, s *specs.Spec) error {
	noFile := place.NoFile
	if noFile == 0 {
		noFile = defaultNoFile
	}
	limits := []specs.POSIXRlimit{
		rlimit("RLIMIT_CORE", 0),
		rlimit("RLIMIT_MEMLOCK", 64<<10),
		rlimit("RLIMIT_MSGQUEUE", 819200), // bytes; the kernel's own default (getrlimit(2))
		rlimit("RLIMIT_NOFILE", noFile),
	}
	if a.Limits == LimitsBestEffort {
		limits = append(limits, rlimit("RLIMIT_DATA", uint64(a.Memory)), rlimit("RLIMIT_NPROC", uint64(a.Pids)))
	}
	s.Process.Rlimits = limits
	return nil
}

// rlimit sets soft and hard alike, so that the analysis cannot raise it.
func rlimit(name string, value uint64) specs.POSIXRlimit {
	return specs.POSIXRlimit{Type: name, Soft: value, Hard: value}
}
