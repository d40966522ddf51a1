package proof

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// likeInit are files of a process in /proc that say the same of an analysis as of its container's init. Timers slack by the priority
// that a process has had, which is compared.
var likeInit = [...]string{"personality", "coredump_filter", "oom_score_adj"}

// checkLike compares what a process inherits with what init has.
func checkLike(pid, init int) error {
	var errs []error
	for _, name := range likeInit {
		one, err := os.ReadFile(path(pid, name))
		other, failed := os.ReadFile(path(init, name))
		if err = errors.Join(err, failed); err == nil && !bytes.Equal(one, other) {
			err = fmt.Errorf("%s is %s, not %s", name, bytes.TrimSpace(one), bytes.TrimSpace(other))
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, checkDisk(pid, init))...)
}

// checkDisk compares the priority of reads and writes (ioprio_set(2)).
func checkDisk(pid, init int) error {
	one, err := diskPriority(pid)
	if err != nil {
		return err
	}
	other, err := diskPriority(init)
	if err == nil && one != other {
		err = fmt.Errorf("its priority for disks is %#x, not %#x", one, other)
	}
	return err
}

func diskPriority(pid int) (uintptr, error) {
	const ofProcess = 1
	priority, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, ofProcess, uintptr(pid), 0)
	if errno != 0 {
		return 0, fmt.Errorf("ioprio_get: %w", errno)
	}
	return priority, nil
}

// Fields of proc_pid_stat(5) after the name, from 0.
const (
	statState, statGroup, statSession, statTerminal    = 0, 2, 3, 4
	statNice, statExitSignal, statRealtime, statPolicy = 16, 35, 37, 38
)

// readStat returns the fields after the name, which may hold anything.
func readStat(pid int) ([]string, error) {
	raw, err := os.ReadFile(path(pid, "stat"))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) <= statPolicy {
		return nil, fmt.Errorf("the state of process %d reads %q", pid, raw)
	}
	return fields, nil
}

// checkSession checks that a process leads a session of its own, and is scheduled as init is.
func checkSession(pid, init int) error {
	stat, err := readStat(pid)
	if err != nil {
		return err
	}
	like, err := readStat(init)
	if err != nil {
		return err
	}
	return compareStat(stat, like, strconv.Itoa(pid))
}

func compareStat(stat, like []string, pid string) error {
	var errs []error
	for _, field := range []struct {
		number int
		name   string
		want   string
	}{
		{statGroup, "process group", pid},
		{statSession, "session", pid},
		{statTerminal, "terminal", "0"},
		{statNice, "nice value", like[statNice]},
		{statPolicy, "scheduling policy", like[statPolicy]},
		{statRealtime, "real-time priority", like[statRealtime]},
		{statExitSignal, "exit signal", strconv.Itoa(int(unix.SIGCHLD))},
	} {
		if stat[field.number] != field.want {
			errs = append(errs, fmt.Errorf("its %s is %s, not %s", field.name, stat[field.number], field.want))
		}
	}
	return errors.Join(errs...)
}
