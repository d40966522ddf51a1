package proof

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

const noCapability = "0000000000000000"

// readStatus reads proc_pid_status(5).
func readStatus(pid int) (map[string]string, error) {
	raw, err := os.ReadFile(path(pid, "status"))
	if err != nil {
		return nil, err
	}
	status := map[string]string{}
	for line := range strings.SplitSeq(string(raw), "\n") {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	return status, nil
}

// checkState compares proc_pid_status(5) with what is wanted, with init's and with the template's.
func checkState(pid int, w Want) error {
	var all [4]map[string]string
	for i, of := range []int{pid, w.Init, w.Template, os.Getpid()} {
		var err error
		if all[i], err = readStatus(of); err != nil {
			return err
		}
	}
	filters, err := filtersOf(all[3])
	if err != nil {
		return err
	}
	w.Filters += filters
	return errors.Join(checkStatus(all[0], w), alike(all[0], all[1], ofInit[:], "init"), alike(all[0], all[2], ofTemplate[:], "the template"))
}

// filtersOf is how many filters of system calls a process has (Linux 5.11). A process cannot get rid of one, nor its children.
func filtersOf(status map[string]string) (int, error) {
	n, err := strconv.Atoi(status["Seccomp_filters"])
	if err != nil {
		return 0, errors.New("the kernel does not say how many filters of system calls a process has (Seccomp_filters, Linux 5.11)")
	}
	return n, nil
}

// checkStatus compares proc_pid_status(5).
func checkStatus(status map[string]string, w Want) error {
	uid, gid := strconv.Itoa(w.UID), strconv.Itoa(w.GID)
	want := map[string]string{
		"Uid": strings.Join([]string{uid, uid, uid, uid}, "\t"), "Gid": strings.Join([]string{gid, gid, gid, gid}, "\t"),
		"CapInh": noCapability, "CapPrm": noCapability, "CapEff": noCapability, "CapBnd": noCapability, "CapAmb": noCapability,
		"NoNewPrivs": "1", "Seccomp": "2", "Seccomp_filters": strconv.Itoa(w.Filters), "Threads": "1", "TracerPid": "0",
		"Umask": fmt.Sprintf("%04o", w.Umask), "SigBlk": noCapability,
	}
	var errs []error
	for name, value := range want {
		if status[name] != value {
			errs = append(errs, fmt.Errorf("%s is %q, not %q", name, status[name], value))
		}
	}
	return errors.Join(errs...)
}

// What an analysis that init starts has from init, and a fork from its template.
var (
	ofInit     = [...]string{"Groups", "Cpus_allowed", "Mems_allowed", "Speculation_Store_Bypass", "SpeculationIndirectBranch", "THP_enabled"}
	ofTemplate = [...]string{"SigIgn", "SigCgt"}
)

func alike(one, other map[string]string, names []string, whose string) error {
	var errs []error
	for _, name := range names {
		if one[name] != other[name] {
			errs = append(errs, fmt.Errorf("%s is %q, not %q as %s has it", name, one[name], other[name], whose))
		}
	}
	return errors.Join(errs...)
}
