package workspace

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
)

// Launcher names the process that a run lives and dies with, so that it is found and never mistaken for another one with the
// same PID.
type Launcher struct {
	PID int `json:"pid"`
	// StartTicks is its start time in clock ticks after boot (proc_pid_stat(5), field 22).
	StartTicks uint64 `json:"start_ticks"`
	BootID     string `json:"boot_id"`
	// PIDNamespace is the inode of the PID namespace of PID (namespaces(7)).
	PIDNamespace uint64 `json:"pid_namespace"`
}

// ErrGone is returned for a process that has ended.
var ErrGone = errors.New("the process has ended")

// ErrNotHere says that a process cannot be seen from here.
var ErrNotHere = errors.New("its process is in another PID namespace, as that of a container; call this there")

// ThisLauncher is this process.
func ThisLauncher() (*Launcher, error) {
	ticks, err := StartTicks(os.Getpid())
	if err != nil {
		return nil, err
	}
	namespace, err := pidNamespace()
	return &Launcher{PID: os.Getpid(), StartTicks: ticks, BootID: BootID(), PIDNamespace: namespace}, err
}

// Open returns a pidfd of the process, or ErrGone. It checks the process after opening the pidfd: one that started when the
// launcher did had the PID then already.
func (l Launcher) Open() (*os.File, error) {
	if l.BootID != BootID() {
		return nil, ErrGone
	}
	namespace, err := pidNamespace()
	if err != nil {
		return nil, err
	}
	if l.PIDNamespace != namespace {
		return nil, ErrNotHere
	}
	fd, err := unix.PidfdOpen(l.PID, 0) // close-on-exec always
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", l.PID, err)
	}
	process := os.NewFile(uintptr(fd), "pidfd")
	if ticks, err := StartTicks(l.PID); err != nil || ticks != l.StartTicks {
		return nil, errors.Join(ErrGone, process.Close())
	}
	return process, nil
}

// StartTicks is when a process started, in clock ticks after boot.
func StartTicks(pid int) (uint64, error) {
	const startTime = 22 // of proc_pid_stat(5)
	stat, err := procfs.ReadStat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return 0, err
	}
	ticks, err := stat.Number(startTime)
	return uint64(ticks), err
}

func pidNamespace() (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return 0, &os.PathError{Op: "stat", Path: "/proc/self/ns/pid", Err: err}
	}
	return st.Ino, nil
}
