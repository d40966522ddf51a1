// Package proof says from outside, by the kernel's word alone, whether a process that was forked from a template is what an
// analysis must be when it begins (docs/adr/0038). What the process or the template says of itself counts for nothing.
package proof

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Want is what the process must be.
type Want struct {
	Init     int             // PID 1 of its container
	Template int             // what it was forked from
	Known    map[string]bool // mappings of that (Template.Mappings); nil: all are checked
	Filters  int             // of system calls, counted from this process on
	UID, GID int             // all of its ids, in this user namespace
	Umask    int
	Files    map[int]*os.File // all of its descriptors
	Proc     string           // the container's /proc
	Work     string           // its working directory, inside
}

// Child checks that a process is a child of this one and in the container of init, so that it may be reaped. Init itself is another's
// to reap.
func Child(pid, init int) error {
	if pid == init {
		return fmt.Errorf("process %d is the container's init", pid)
	}
	status, err := readStatus(pid)
	if err != nil {
		return err
	}
	if parent := status["PPid"]; parent != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("process %d is a child of %s", pid, parent)
	}
	return same(pid, init, "ns/pid")
}

// Check returns what is not as it must be.
func Check(pid int, w Want) error {
	return errors.Join(
		checkState(pid, w),
		checkLike(pid, w.Init),
		checkSession(pid, w.Init),
		checkPlace(pid, w),
		checkNamespaces(pid, w.Init),
		checkDescriptors(pid, w.Files),
		checkMappings(pid, w.Template, w.Known),
		checkNothingShared(pid, w.Template),
		Pair(w.Proc),
	)
}

// checkPlace compares root, working directory and the owner of the process's files, which is its id only if it is dumpable; the
// directory's always is.
func checkPlace(pid int, w Want) error {
	cwd, err := os.Readlink(path(pid, "cwd"))
	if err == nil && cwd != w.Work {
		err = fmt.Errorf("its working directory is %s", cwd)
	}
	var st unix.Stat_t
	if err := unix.Stat(path(pid, "stat"), &st); err != nil || int(st.Uid) != w.UID {
		return errors.Join(fmt.Errorf("its files are of user %d", st.Uid), err)
	}
	return errors.Join(err,
		sameInode(path(pid, "root"), path(w.Init, "root")),
		sameInode(path(pid, "cwd"), filepath.Join(path(w.Init, "root"), w.Work)),
		sameInode(path(pid, "exe"), path(w.Template, "exe")))
}

var namespaces = [...]string{"user", "pid", "pid_for_children", "mnt", "ipc", "uts", "net", "cgroup", "time", "time_for_children"}

func checkNamespaces(pid, init int) error {
	var errs []error
	for _, kind := range namespaces {
		errs = append(errs, same(pid, init, "ns/"+kind))
	}
	return errors.Join(errs...)
}

// checkDescriptors compares every descriptor with the file that it must be.
func checkDescriptors(pid int, want map[int]*os.File) error {
	dir := path(pid, "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		file := want[fd]
		if err != nil || file == nil {
			errs = append(errs, fmt.Errorf("it has descriptor %s", entry.Name()))
			continue
		}
		errs = append(errs, sameInode(filepath.Join(dir, entry.Name()), "/proc/self/fd/"+strconv.Itoa(int(file.Fd()))))
	}
	if len(entries) < len(want) {
		errs = append(errs, fmt.Errorf("it has %d descriptors, not %d", len(entries), len(want)))
	}
	return errors.Join(errs...)
}

// Pair checks that a container has two processes, its init and one more.
func Pair(proc string) error {
	n, err := count(proc)
	if err == nil && n != 2 {
		err = fmt.Errorf("its container has %d processes, not 2", n)
	}
	return err
}

// AtMostPair is Pair where one or both may have ended.
func AtMostPair(proc string) error {
	n, err := count(proc)
	if err == nil && n > 2 {
		err = fmt.Errorf("its container has %d processes, not 2", n)
	}
	return err
}

// count counts the processes of a container by its /proc.
func count(proc string) (n int, err error) {
	entries, err := os.ReadDir(proc)
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			n++
		}
	}
	return n, err
}

// The kinds of kcmp(2).
var shared = map[string]int{"memory": 1, "descriptors": 2, "directories": 3, "signal handlers": 4, "I/O context": 5, "semaphore adjustments": 6}

// checkNothingShared compares the process with its template by kcmp(2), which says 0 where something is the same.
func checkNothingShared(pid, template int) error {
	var errs []error
	for name, kind := range shared {
		result, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(pid), uintptr(template), uintptr(kind), 0, 0, 0)
		switch {
		case errno != 0:
			errs = append(errs, fmt.Errorf("kcmp: %w", errno))
		case result == 0 && !bothNone(kind):
			errs = append(errs, fmt.Errorf("it shares its %s with the template", name))
		}
	}
	return errors.Join(errs...)
}

// bothNone reports whether a kind is equal for processes that have none of it, as an I/O context or semaphore adjustments.
func bothNone(kind int) bool { return kind >= 5 }

func same(pid, other int, link string) error {
	a, err := os.Readlink(path(pid, link))
	if err != nil {
		return err
	}
	b, err := os.Readlink(path(other, link))
	if err == nil && a != b {
		err = fmt.Errorf("%s is %s, not %s", link, a, b)
	}
	return err
}

func sameInode(a, b string) error {
	var one, other unix.Stat_t
	if err := errors.Join(unix.Stat(a, &one), unix.Stat(b, &other)); err != nil {
		return fmt.Errorf("%s, %s: %w", a, b, err)
	}
	if one.Dev != other.Dev || one.Ino != other.Ino {
		return fmt.Errorf("%s is another file than it should be", a)
	}
	return nil
}

func path(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
