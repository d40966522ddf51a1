package proof

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Strays are processes that a template, or what was forked from it, has left where none may be: beside the supervisor, which is this
// process, or in a container as another's child than init's. Known are the template and the analyses that were forked. All that came
// from a template has its filters of system calls, and nothing of ours in this PID namespace has them.
func Strays(known map[int]bool) ([]int, error) {
	status, err := readStatus(os.Getpid())
	if err != nil {
		return nil, err
	}
	filters, err := filtersOf(status)
	if err != nil {
		return nil, err
	}
	pids, err := processes()
	if err != nil {
		return nil, err
	}
	var strays []int
	for _, pid := range pids {
		status, err := readStatus(pid)
		if known[pid] || err != nil {
			continue // with an error it has ended
		}
		if n, err := filtersOf(status); err != nil || n > filters && astray(status) {
			strays = append(strays, pid)
		}
	}
	return strays, nil
}

// astray reports whether a process with filters is in this PID namespace, or a child of this process and no container's init.
func astray(status map[string]string) bool {
	numbers := strings.Fields(status["NSpid"]) // one of each namespace from this one on
	return len(numbers) < 2 || status["PPid"] == strconv.Itoa(os.Getpid()) && numbers[len(numbers)-1] != "1"
}

// Within are the processes in a mount namespace (proc_pid_ns(5)).
func Within(namespace *os.File) ([]int, error) {
	pids, err := processes()
	if err != nil {
		return nil, err
	}
	var within []int
	for _, pid := range pids {
		if sameInode(path(pid, "ns/mnt"), "/proc/self/fd/"+strconv.Itoa(int(namespace.Fd()))) == nil {
			within = append(within, pid)
		}
	}
	return within, nil
}

// processes are the ids of all that this process sees.
func processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, entry := range entries {
		if pid, err := strconv.Atoi(entry.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Alone returns an error where there are strays. It looks twice: a process that forks and ends all the time is missed only where its
// numbers start again from the lowest while one looks.
func Alone(known map[int]bool) error {
	var errs []error
	for range 2 {
		strays, err := Strays(known)
		errs = append(errs, err)
		for _, pid := range strays {
			status, _ := readStatus(pid)
			errs = append(errs, fmt.Errorf("process %d, %q, of state %q is left, child of %s", pid, status["Name"], status["State"], status["PPid"]))
		}
	}
	return errors.Join(errs...)
}
