package durable

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls that are watched. None of them is made by Go's runtime, which could not wait for an answer.
func watched() []uint32 {
	return []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_MKDIRAT}
}

// notification is struct seccomp_notif (seccomp_unotify(2)).
type notification struct {
	id          uint64
	pid, flags  uint32
	call        int32
	arch        uint32
	instruction uint64
	args        [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// listen makes the watched calls of this thread wait until they are answered by the descriptor that it returns.
func listen() (fd int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}} // the number in struct seccomp_data
	for _, number := range watched() {
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jt: 0, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return -1, errno
	}
	return int(listener), nil
}

// serve notes each call and has it go on, until the pipe done is closed: the end of the thread cannot be waited for,
// since Go keeps the first thread of a process.
func serve(listener, done int, note func(*notification)) error {
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(done)}}
		if _, err := unix.Poll(ready, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if ready[1].Revents != 0 {
			return nil
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			continue
		}
		if err := answer(listener, note); err != nil && !errors.Is(err, unix.ENOENT) { // ENOENT: a signal, and the call comes again
			return err
		}
	}
}

func answer(listener int, note func(*notification)) error {
	var n notification
	if err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
		return err
	}
	note(&n)
	r := response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	return control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

func control(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
