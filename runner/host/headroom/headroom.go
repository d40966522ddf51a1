// Package headroom reports how many runs fit the limits of this process and its user: open files, processes and ids. Its C
// part (threads.c, watches.c, limits.c) exits if the program cannot even start, before Go does with a trace.
package headroom

// #include "threads.h"
// #include "limits.h"
import "C"

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Unlimited means no limit.
const Unlimited = math.MaxInt64

// User is whose threads count: a uid, and the ids that this user's user namespaces map.
type User struct {
	UID          int
	Start, Count int
}

// Headroom is what the limits allow.
type Headroom struct {
	Files   int64 // descriptors of a process (RLIMIT_NOFILE)
	Threads int64 // of the user (RLIMIT_NPROC)
	Others  int64 // the user's threads outside this process
	Pairs   int64 // pairs of ids, one for each run
	Space   int64 // bytes of address space of a process (RLIMIT_AS)
	Data    int64 // bytes of its private memory (RLIMIT_DATA)
}

// Read reads this process's limits. It counts threads only if they are limited.
func Read(u User, pairs int64) Headroom {
	h := Headroom{
		Files: limit(unix.RLIMIT_NOFILE), Threads: Unlimited, Pairs: pairs,
		Space: limit(unix.RLIMIT_AS), Data: limit(unix.RLIMIT_DATA),
	}
	if u.UID != 0 { // the kernel does not limit root
		h.Threads = limit(unix.RLIMIT_NPROC)
	}
	if h.Threads < Unlimited {
		h.Others = u.others()
	}
	return h
}

func limit(resource int) int64 {
	var l unix.Rlimit
	if unix.Getrlimit(resource, &l) != nil || l.Cur > math.MaxInt64 {
		return Unlimited
	}
	return int64(l.Cur)
}

func (u User) others() int64 {
	all := u.all()
	own, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return all
	}
	return max(0, all-int64(len(own)))
}

func (u User) all() int64 {
	return int64(C.headroom_threads(C.uint(u.UID), C.uint(u.Start), C.uint(u.Count)))
}

// The needs, as counted on a machine with two cores: of launcher and supervisor, of each batch line in progress, and of
// each job whose container is being started. An input is open in both.
const (
	ownFiles     = 40
	lineFiles    = 12
	inputFiles   = 2
	ownThreads   = C.HEADROOM_RUN - lineThreads - jobThreads
	lineThreads  = 5
	jobThreads   = 5
	countedBelow = C.HEADROOM_COUNTED
)

// Demand is the needs of a batch job.
type Demand struct {
	Lines  int64 // in progress for each job, from preparation to commit
	Inputs int64 // per line
}

// Fit returns how many jobs fit, at most jobs, and what runs short; 0 if not even one fits.
func (h Headroom) Fit(jobs int64, d Demand) (fits int64, short string) {
	fits = jobs
	for _, bound := range []struct {
		have, base, each int64
		what             string
	}{
		{h.Files, ownFiles, d.Lines * (lineFiles + inputFiles*d.Inputs), fmt.Sprintf("open files (%d, see \"ulimit -n\")", h.Files)},
		{
			h.Threads, h.Others + ownThreads, d.Lines*lineThreads + jobThreads,
			fmt.Sprintf("processes and threads of this user (%d, others use %d, see \"ulimit -u\")", h.Threads, h.Others),
		},
		{h.Space, C.HEADROOM_SPACE - C.HEADROOM_SPACE_JOB, C.HEADROOM_SPACE_JOB, fmt.Sprintf("address space (%d bytes, see \"ulimit -v\")", h.Space)},
		{h.Data, C.HEADROOM_DATA - C.HEADROOM_DATA_JOB, C.HEADROOM_DATA_JOB, fmt.Sprintf("private memory (%d bytes, see \"ulimit -d\")", h.Data)},
		{h.Pairs, 0, d.Lines, fmt.Sprintf("ids for runs (%d pairs, see /etc/subuid and /etc/subgid)", h.Pairs)},
	} {
		if most := max(0, (bound.have-bound.base)/bound.each); bound.have < Unlimited && most < fits {
			fits, short = most, bound.what
		}
	}
	return fits, short
}

// Check refuses a run if this user has too few threads left. A distant limit is not checked.
func Check(u User) error {
	if u.UID == 0 || limit(unix.RLIMIT_NPROC) > countedBelow {
		return nil
	}
	h := Read(u, Unlimited)
	if h.Others+C.HEADROOM_RUN <= h.Threads {
		return nil
	}
	return fmt.Errorf("this user may have %d processes and threads (RLIMIT_NPROC), and others have %d of them: a run takes %d and what --pids allows; raise the limit (ulimit -u)",
		h.Threads, h.Others, int(C.HEADROOM_RUN))
}

// explained adds a sentence on what an error means here.
type explained struct {
	sentence string
	err      error
}

func (e *explained) Error() string { return e.sentence }

func (e *explained) Unwrap() error { return e.err }

const (
	noThreads = "no more processes or threads could be made: raise the limit of this user (RLIMIT_NPROC, \"ulimit -u\") or that of the control group (pids.max)"
	noWatches = "no epoll watches are left for this user (fs.epoll.max_user_watches): an analysis that runs with the user's own id may hold them; stop it, or raise the limit as root with sysctl"
)

// Explain explains an error caused by too few threads or epoll watches, instead of by a Go trace. It returns other errors
// unchanged.
func Explain(err error) error {
	text := err.Error()
	has := func(part string) bool { return strings.Contains(text, part) }
	unavailable := has("esource temporarily unavailable") && slices.ContainsFunc([]string{"pthread_create", "fork/exec", "unable to spawn", "namespaces"}, has)
	switch {
	case unavailable || has("failed to create new OS thread"):
		return &explained{noThreads, err}
	case has("epollctl failed with 28") || has("file+net") && has("no space left on device"): // 28 is ENOSPC
		return &explained{noWatches, err}
	default:
		return err
	}
}
