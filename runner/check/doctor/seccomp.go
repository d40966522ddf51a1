package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/unotify"
)

// refusal is an errno that no kernel gives for uname(2).
const refusal = unix.EXDEV

// filtered makes a system call that a filter of this thread refuses.
func filtered() (string, error) {
	runtime.LockOSThread()
	if _, err := install(unix.SYS_UNAME, unix.SECCOMP_RET_ERRNO|uint32(refusal), 0); err != nil {
		return "", err
	}
	var name unix.Utsname
	err := unix.Uname(&name)
	switch {
	case err == nil:
		return "", errors.New("a system call that a filter refuses was made")
	case !errors.Is(err, refusal):
		return "", fmt.Errorf("a system call that a filter refuses with EXDEV gave %w", err)
	}
	return "a filter refused a system call", nil
}

// notified makes a socket, which the audit refuses by seccomp user notification.
func notified() (string, error) {
	runtime.LockOSThread()
	fd, err := install(unix.SYS_SOCKET, unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if err != nil {
		return "", err
	}
	unotify.Start(os.NewFile(fd, "seccomp notifications"), func() { os.Exit(1) }) // ends with this process
	// unix.Socket keeps its processor while it waits (syscall.RawSyscall): the only one would be missing for the answer.
	socket, _, errno := unix.Syscall(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	switch {
	case errno == 0:
		return "", errors.Join(errors.New("a socket that was to be refused was made"), unix.Close(int(socket)))
	case errno != unix.EAFNOSUPPORT:
		return "", fmt.Errorf("a system call that was to be answered with EAFNOSUPPORT gave %w", errno)
	}
	return "a system call was held up, looked at and answered", nil
}

// install sets a filter for this thread (seccomp(2)) that answers one system call with an action and allows all others.
// It returns the listener if the flags ask for one.
func install(call int, action uint32, flags uintptr) (uintptr, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("no_new_privs: %w", err)
	}
	// struct seccomp_data starts with the number of the call.
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(call)},
		{Code: unix.BPF_RET | unix.BPF_K, K: action},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&filter)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return 0, fmt.Errorf("seccomp: %w", errno)
	}
	return fd, nil
}
