package unotify

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asker names the test binary's other part: a process under a filter that asks about every connect(2) and
// every socket of a family above AF_INET6.
const asker = "scidex-oci test: asker"

func TestMain(m *testing.M) {
	if os.Args[0] == asker {
		if err := ask(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// ask sends the descriptor of its notifications over descriptor 3 and does what is asked about. Nothing of it
// leaves the machine.
func ask() error {
	runtime.LockOSThread() // the filter is this thread's
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CONNECT, Jt: 3},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SOCKET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}, // the lower half of the first argument
		{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: unix.AF_INET6, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return err
	}
	if err := errors.Join(unix.Close(int(fd)), unix.Close(3)); err != nil {
		return err
	}
	return attempts()
}

func attempts() error {
	connect := func(name string) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
	}
	for range 3 {
		if err := connect("@scidex-oci-nobody"); !errors.Is(err, unix.ECONNREFUSED) {
			return fmt.Errorf("abstract: %w", err)
		}
	}
	if err := connect(os.TempDir() + "/scidex-oci-nobody/s"); !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("path: %w", err)
	}
	if fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EAFNOSUPPORT) {
		return fmt.Errorf("AF_VSOCK: %d, %w", fd, err)
	}
	return nil
}

// startAsker returns the process and its notifications.
func startAsker(t *testing.T, stderr io.Writer) (*exec.Cmd, *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	own, theirs := os.NewFile(uintptr(fds[0]), "own"), os.NewFile(uintptr(fds[1]), "theirs")
	defer own.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.ExtraFiles, cmd.Stderr = []string{asker}, []*os.File{theirs}, stderr
	cmd.Env = []string{"GORACE=atexit_sleep_ms=0", "TMPDIR=" + os.TempDir()} // the race detector's second of patience
	must(t, cmd.Start())
	must(t, theirs.Close())
	c, err := net.FileConn(own)
	must(t, err)
	defer c.Close()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	must(t, err)
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		t.Fatalf("the asker sent no descriptor: %v; %v", err, cmd.Wait())
	}
	got, err := unix.ParseUnixRights(&messages[0])
	must(t, err)
	return cmd, os.NewFile(uintptr(got[0]), "notifications")
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// TestWatch answers a real filter, and leaves neither a goroutine nor a descriptor.
func TestWatch(t *testing.T) {
	round := func() {
		cmd, fd := startAsker(t, os.Stderr)
		w := Start(fd, func() { t.Error("it was lost") })
		must(t, cmd.Wait())
		events, err := w.Wait()
		must(t, err)
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprintf("%s %s %s %d", e.Kind, e.Address, e.Severity, e.Count))
		}
		want := []string{"connect unix @scidex-oci-nobody medium 3", "socket AF_VSOCK medium 1"}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	round() // what a process opens once
	goroutines, files := runtime.NumGoroutine(), descriptors(t)
	for range 20 {
		round()
	}
	for late := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > goroutines && time.Now().Before(late); {
		time.Sleep(time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		stacks := make([]byte, 1<<16)
		t.Errorf("%d goroutines, before %d:\n%s", n, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if n := descriptors(t); n > files {
		t.Errorf("%d descriptors, before %d", n, files)
	}
}

// TestWatchOfTheKilled: whoever is killed while it waits ends the watch too.
func TestWatchOfTheKilled(t *testing.T) {
	cmd, fd := startAsker(t, os.Stderr) // nobody answers
	time.Sleep(20 * time.Millisecond)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	done := make(chan struct{})
	go func() {
		defer close(done)
		if events, err := Start(fd, func() { t.Error("it was lost") }).Wait(); len(events) > 0 || err != nil {
			t.Errorf("%v, %v", events, err)
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("it waits on")
	}
}

// TestWatchIsLost: a watch that cannot go on says so while it still holds the descriptor, and keeps that until it
// is waited for. poll(2) fails where RLIMIT_NOFILE is below the number of its descriptors.
func TestWatchIsLost(t *testing.T) {
	cmd, fd := startAsker(t, os.Stderr)
	var limit unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	told := make(chan struct{})
	w := Start(fd, func() { close(told) })
	select {
	case <-told:
	case <-time.After(2 * time.Minute):
	}
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	select {
	case <-told:
	default:
		t.Fatal("nobody was told")
	}
	<-w.done
	if _, err := unix.FcntlInt(fd.Fd(), unix.F_GETFD, 0); err != nil {
		t.Errorf("the descriptor is gone while the process lives: %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	if events, err := w.Wait(); len(events) > 0 || !errors.Is(err, ErrLost) || !errors.Is(err, unix.EINVAL) {
		t.Errorf("%v, %v", events, err)
	}
	if err := fd.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the descriptor stayed open: %v", err)
	}
}

// TestWatchOfNothing: what is no listener is lost too, and not taken for one whose processes are dead.
func TestWatchOfNothing(t *testing.T) {
	fd, err := os.Open("/dev/null")
	must(t, err)
	lost := false
	w := Start(fd, func() { lost = true })
	if events, err := w.Wait(); len(events) > 0 || !errors.Is(err, ErrLost) || !lost {
		t.Errorf("%v, %v, lost: %v", events, err, lost)
	}
}

// TestWatchIsGone: without anybody who answers, nothing is opened.
func TestWatchIsGone(t *testing.T) {
	said := &strings.Builder{}
	cmd, fd := startAsker(t, said)
	must(t, fd.Close())
	if err := cmd.Wait(); err == nil || !strings.Contains(said.String(), unix.ENOSYS.Error()) {
		t.Errorf("%v: %s; want what nobody answers for refused", err, said)
	}
}

// TestLocate looks at this process' own files; what is read-only is the end-to-end tests'.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	must(t, os.Symlink(dir, dir+"/link"))
	t.Chdir(dir)
	p := process{pid: os.Getpid()}
	for path, want := range map[string]pathClass{
		dir + "/file":         own,
		"file":                own,
		"./link/file":         own,
		"link/../link/file":   missing, // ".." is the link's directory
		dir + "/none":         missing,
		"none/none/none":      missing,
		"/proc/self/fd/3/x":   own,
		"/proc/../proc/1/cwd": own,
	} {
		if got := p.locate(path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := (process{pid: 1 << 30}).locate(dir); got != nowhere {
		t.Errorf("of a process that is gone: %v", got)
	}
	if got := p.absolute("a/../b"); got != dir+"/b" {
		t.Errorf("absolute path %q", got)
	}
}

// TestRead reads this process' own memory.
func TestRead(t *testing.T) {
	p := process{pid: os.Getpid()}
	text := []byte("hello")
	got, err := p.read(uint64(uintptr(unsafe.Pointer(&text[0]))), len(text))
	if err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	for _, where := range []uint64{1, 1<<64 - 1} {
		if got, err := p.read(where, 16); got != nil || err != nil {
			t.Errorf("%#x: %q, %v; want nothing", where, got, err)
		}
	}
	if got, err := (process{pid: 1 << 30}).read(1, 16); got != nil || err != nil {
		t.Errorf("of a process that is gone: %q, %v", got, err)
	}
	runtime.KeepAlive(text)
}

// TestJudgeCall: what is longer than the kernel takes is a mistake, and no attempt.
func TestJudgeCall(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(fd)
	raw := append(sockaddr(unix.AF_INET, 0, 80, 192, 0, 2, 1), make([]byte, 1000)...)
	for size, want := range map[uint64]string{
		15: "", 16: "tcp 192.0.2.1:80", 128: "tcp 192.0.2.1:80", 129: "", 1000: "", 1 << 31: "",
		1<<32 | 16: "tcp 192.0.2.1:80", // the kernel takes an int
	} {
		pointer := uint64(uintptr(unsafe.Pointer(&raw[0])))
		if got := judgeCall(process{pid: os.Getpid(), socket: fd}, pointer, size, false); got.address != want {
			t.Errorf("%d bytes: %+v, want %q", size, got, want)
		}
	}
	runtime.KeepAlive(raw)
}

func TestProtocol(t *testing.T) {
	for want, kind := range map[string][2]int{
		"tcp": {unix.AF_INET6, unix.SOCK_STREAM}, "udp": {unix.AF_INET, unix.SOCK_DGRAM}, "unix": {unix.AF_UNIX, unix.SOCK_DGRAM},
	} {
		fd, err := unix.Socket(kind[0], kind[1]|unix.SOCK_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(fd)
		if got := (process{pid: os.Getpid(), socket: fd}).protocol(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f, err := os.Open("/dev/null")
	must(t, err)
	defer f.Close()
	for _, fd := range []int{int(f.Fd()), -1} {
		if got := (process{pid: os.Getpid(), socket: fd}).protocol(); got != "" {
			t.Errorf("descriptor %d: %q", fd, got)
		}
	}
}
