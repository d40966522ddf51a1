package headroom

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutWatches is the argument with which this binary executes itself once more, and epoll_ctl(2) then fails with ENOSPC.
const withoutWatches = "without-watches"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == withoutWatches {
		fmt.Fprintln(os.Stderr, executeWithoutWatches())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// executeWithoutWatches filters the calls of this thread, which execve(2) makes the only one.
func executeWithoutWatches() error {
	runtime.LockOSThread()
	const numberOffset = 0 // of struct seccomp_data
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberOffset},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_EPOLL_CTL, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSPC)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&filter)), 0, 0); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(self, []string{self, "-test.list=^$"}, os.Environ())
}

// A program that can add no watch to epoll(7) ends before Go does, with a sentence and the code for a refusal. scripts/soak has
// TestNoWatchesLeft, which takes them all.
func TestNoWatches(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, withoutWatches).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 125 {
		t.Errorf("%v, want exit code 125", err)
	}
	said := string(out)
	for _, want := range []string{"scidex-oci: no epoll watches", "max_user_watches", fmt.Sprintf("pgrep -a -u %d scidex-oci", os.Geteuid()), "kill -TERM"} {
		if !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("it said %.400q, want one line with %q", said, want)
		}
	}
}
