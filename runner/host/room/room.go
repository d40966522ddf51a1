// Package room says how many runs the limits of this process and its user have room for: open files, processes and ids.
// Its C part (threads.c, watches.c) ends a program that cannot even start, before Go does with a trace.
package room

// #include "threads.h"
import "C"

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Unlimited is for what nothing bounds.
const Unlimited = math.MaxInt64

// User is whose threads count: an id of the kernel's, and the ids that user namespaces of this user map.
type User struct {
	UID          int
	Start, Count int
}

// Room is what there is.
type Room struct {
	Files   int64 // descriptors of a process (RLIMIT_NOFILE)
	Threads int64 // of the user (RLIMIT_NPROC)
	Others  int64 // threads of the user that are there, without this process
	Pairs   int64 // pairs of ids, of which each run has one
}

// Read reads the limits of this process. Threads are counted only where their number is limited.
func Read(u User, pairs int64) Room {
	r := Room{Files: limit(unix.RLIMIT_NOFILE), Threads: Unlimited, Pairs: pairs}
	if u.UID != 0 { // the kernel holds no limit for root
		r.Threads = limit(unix.RLIMIT_NPROC)
	}
	if r.Threads < Unlimited {
		r.Others = u.others()
	}
	return r
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
	return int64(C.room_threads(C.uint(u.UID), C.uint(u.Start), C.uint(u.Count)))
}

// What is needed, as it was counted on a machine with two cores: by launcher and supervisor, by each line of a batch that
// is on its way, and by each job, of which the container is being started. An input is open in both.
const (
	ownFiles     = 40
	lineFiles    = 12
	inputFiles   = 2
	ownThreads   = C.ROOM_RUN - lineThreads - jobThreads
	lineThreads  = 5
	jobThreads   = 5
	countedBelow = C.ROOM_COUNTED
)

// Demand is what a job of a batch needs.
type Demand struct {
	Lines  int64 // on their way for each job, from being made ready to being committed
	Inputs int64 // of a line
}

// Fit is how many jobs have room, at most as many as asked for, and what there is no more of; 0 where not even one has.
func (r Room) Fit(jobs int64, d Demand) (fits int64, short string) {
	fits = jobs
	for _, bound := range []struct {
		have, base, each int64
		what             string
	}{
		{r.Files, ownFiles, d.Lines * (lineFiles + inputFiles*d.Inputs), fmt.Sprintf("open files (%d, see \"ulimit -n\")", r.Files)},
		{
			r.Threads, r.Others + ownThreads, d.Lines*lineThreads + jobThreads,
			fmt.Sprintf("processes and threads of this user (%d, of which others have %d, see \"ulimit -u\")", r.Threads, r.Others),
		},
		{r.Pairs, 0, d.Lines, fmt.Sprintf("ids for runs (%d pairs, see /etc/subuid and /etc/subgid)", r.Pairs)},
	} {
		if most := max(0, (bound.have-bound.base)/bound.each); bound.have < Unlimited && most < fits {
			fits, short = most, bound.what
		}
	}
	return fits, short
}

// Check refuses a run for which this user has too few threads left. A limit that is far away is not looked at.
func Check(u User) error {
	if u.UID == 0 || limit(unix.RLIMIT_NPROC) > countedBelow {
		return nil
	}
	r := Read(u, Unlimited)
	if r.Others+C.ROOM_RUN <= r.Threads {
		return nil
	}
	return fmt.Errorf("this user may have %d processes and threads (RLIMIT_NPROC), and others have %d of them: a run takes %d and what --pids allows; raise the limit (ulimit -u)",
		r.Threads, r.Others, int(C.ROOM_RUN))
}

// explained is an error with the sentence that says what it means here.
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

// Explain says what an error means that comes of too few threads or epoll watches, in place of the trace of a Go program that
// could get none. Other errors stay what they are.
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
