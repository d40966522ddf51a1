package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// underListener is the first argument of this binary if it shall start a command whose file-system calls wait for the
// answer of a test (seccomp_unotify(2)): the command itself is not changed in any way. Under underSwaps all calls wait
// that look a path up.
const (
	underListener = "e2e-under-listener"
	underSwaps    = "e2e-under-swaps"
)

// waitingCalls are the calls that wait, by the first argument of this binary.
var waitingCalls = map[string]map[uintptr]fileCall{underListener: fileCalls, underSwaps: pathCalls}

// notification is struct seccomp_notif: a thread that waits in a system call.
type notification struct {
	ID          uint64
	Pid, Flags  uint32 // the pid is the thread's, as the receiver sees it
	Nr          int32
	Arch        uint32
	Instruction uint64
	Args        [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	ID    uint64
	Value int64
	Error int32 // a negative errno
	Flags uint32
}

// startUnderListener replaces this process by the command. The filter is that of one thread, which execve(2) makes
// the only one.
func startUnderListener(program []unix.SockFilter, command []string) error {
	runtime.LockOSThread()
	if os.Geteuid() != 0 { // without CAP_SYS_ADMIN a filter needs it
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return fmt.Errorf("install the filter: %w", errno)
	}
	const socket = 3
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return fmt.Errorf("pass the listener: %w", err)
	}
	unix.CloseOnExec(socket)
	return syscall.Exec(command[0], command, os.Environ())
}

// listenerFilter notifies of the calls of the table and lets all others pass.
func listenerFilter(calls map[uintptr]fileCall) []unix.SockFilter {
	const numberOffset = 0 // of struct seccomp_data
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: numberOffset}}
	for number := range calls {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(number), Jt: 0, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	return append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

// listen starts the command and answers the notifications of all its processes until the last of them has ended.
func (h *harness) listen(under string, cmd *exec.Cmd, judge func(notification) *answer) outcome {
	h.t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	theirs, ours := os.NewFile(uintptr(pair[0]), "theirs"), os.NewFile(uintptr(pair[1]), "ours")
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd.Args = append([]string{self, under, cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = self, []*os.File{theirs}
	served := make(chan error, 1)
	go func() { served <- serve(ours, judge) }()
	out := h.end(cmd)
	theirs.Close()
	if err := <-served; err != nil {
		h.t.Fatal(err, out)
	}
	return out
}

// serve receives the listener and answers until nobody has the filter any more.
func serve(socket *os.File, judge func(notification) *answer) error {
	conn, err := net.FileConn(socket)
	socket.Close()
	if err != nil {
		return err
	}
	defer conn.Close()
	message, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(message, rights)
	if err != nil {
		return fmt.Errorf("receive the listener: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return fmt.Errorf("no listener came: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	for {
		more, err := answerOne(fds[0], judge)
		if err != nil || !more {
			return err
		}
	}
}

// answerOne waits for a notification and answers it. A judge who returns none has killed the process.
func answerOne(listener int, judge func(notification) *answer) (more bool, err error) {
	ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	if _, err := unix.Poll(ready, -1); err != nil {
		return errors.Is(err, unix.EINTR), ignoring(err, unix.EINTR)
	}
	if ready[0].Revents&unix.POLLIN == 0 {
		return false, nil // POLLHUP: the last process has ended
	}
	var got notification
	if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&got)); err != nil {
		return true, ignoring(err, unix.ENOENT, unix.EINTR) // the thread was interrupted or killed
	}
	reply := judge(got)
	if reply == nil {
		return true, nil
	}
	reply.ID = got.ID
	return true, ignoring(control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(reply)), unix.ENOENT)
}

func control(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

func ignoring(err error, harmless ...error) error {
	for _, h := range harmless {
		if errors.Is(err, h) {
			return nil
		}
	}
	return err
}

// mayListen skips the test if no command can be put under a listener.
func mayListen(t *testing.T) {
	t.Helper()
	if theHost.ranged && !theHost.root {
		t.Skip("a filter of an ordinary user needs no_new_privs, under which newuidmap has no rights; the tests as a user with one id and as root cover this")
	}
}
