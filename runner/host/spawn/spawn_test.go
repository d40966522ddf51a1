package spawn

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	tell = "tell what you are"
	wait = "clone, and wait"
	fill = "clone, with as many files as there may be"
)

// TestMain is also what the tests execute.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case tell:
		tellAll()
	case wait:
		cloneAndWait()
	case fill:
		cloneAndFill()
	default:
		os.Exit(m.Run())
	}
}

// cloneAndWait tells the number of a process that waits.
func cloneAndWait() {
	runtime.LockOSThread()
	child, err := Clone(unix.CLONE_NEWUSER)
	if err != nil {
		panic(err)
	}
	fmt.Println(child.Process.Pid)
	time.Sleep(time.Hour) // select {} is a deadlock to the runtime, which ends the process
}

// cloneAndFill has hardly a descriptor of its own yet, so that the lowest are free.
func cloneAndFill() {
	runtime.LockOSThread()
	files := slices.Repeat([]*os.File{os.Stderr}, 8)
	for range 100 { // what goes wrong is a race
		child, err := Clone(unix.CLONE_NEWUSER, files...)
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			os.Exit(0)
		}
		if err != nil {
			panic(err)
		}
		if err := child.Execute("/no/such/program", []string{tell}, false); !errors.Is(err, unix.ENOENT) {
			fmt.Fprintf(os.Stderr, "%v, want %v\n", err, unix.ENOENT)
			os.Exit(1)
		}
		_, _ = child.Process.Wait()
	}
	os.Exit(0)
}

// tellAll tells of this process on its descriptor 1, and ends it with the end of descriptor 0.
func tellAll() {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(status)) {
		for _, field := range []string{"Uid", "Gid", "Groups", "SigBlk", "SigIgn", "SigCgt"} {
			if strings.HasPrefix(line, field+":") {
				fmt.Println(strings.Join(strings.Fields(line), " "))
			}
		}
	}
	dir, _ := os.Getwd()
	sid, _ := unix.Getsid(0)
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	fmt.Println("args", os.Args[1:], "env", os.Environ(), "dir", dir, "leads", sid == os.Getpid(), "dumpable", dumpable, err)
	fmt.Println(scheduling())
	for _, fd := range inherited() {
		fmt.Println("descriptor", fd)
	}
	fmt.Println("done")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(7)
}

// inherited are the descriptors that an execve leaves open.
func inherited() (fds []int) {
	for fd := range 1024 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}

// family is a child with pipes for its input and output, and the thread that made it.
type family struct {
	*Child
	in   *os.File
	out  *bufio.Reader
	done chan *os.ProcessState
	end  chan struct{} // of the thread
}

func clone(t *testing.T, namespaces uintptr) *family {
	t.Helper()
	return cloneOn(t, namespaces, func() {})
}

// inThread calls do in a thread that ends after it, which the first one of a process never does.
func inThread(do func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		inThread(do)
	}()
	<-done
}

// cloneOn clones on a thread that has prepared for it.
func cloneOn(t *testing.T, namespaces uintptr, prepare func()) *family {
	t.Helper()
	in, toIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, toOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	f := &family{in: toIn, out: bufio.NewReader(out), done: make(chan *os.ProcessState, 1), end: make(chan struct{})}
	cloned := make(chan error)
	go inThread(func() {
		prepare()
		var err error
		f.Child, err = Clone(namespaces, in, toOut, os.Stderr)
		cloned <- err
		if err != nil {
			return
		}
		go func() {
			state, _ := f.Process.Wait()
			f.done <- state
		}()
		<-f.end
	})
	err = <-cloned
	in.Close()
	toOut.Close()
	t.Cleanup(func() { toIn.Close(); out.Close() })
	if err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			t.Skipf("no user namespaces: %v", err)
		}
		t.Fatal(err)
	}
	return f
}

// words are what it tells of itself.
func (f *family) words(t *testing.T) (words []string) {
	t.Helper()
	for {
		line, err := f.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, words)
		}
		if line == "done\n" {
			return words
		}
		words = append(words, strings.TrimSpace(line))
	}
}

func (f *family) mapIDs(t *testing.T, first int) {
	t.Helper()
	groups := "allow"
	if os.Getuid() != 0 {
		groups = "deny"
	}
	for file, text := range map[string]string{
		"uid_map": fmt.Sprintf("0 %d 1", first), "setgroups": groups,
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", f.Process.Pid, file), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/gid_map", f.Process.Pid), fmt.Appendf(nil, "0 %d 1", first), 0); err != nil {
		t.Fatal(err)
	}
}

const self = "/proc/self/exe"

// leaveOpen opens descriptors as a caller inherits them, without close-on-exec: the lowest that is free, and one far above.
func leaveOpen(t *testing.T) {
	t.Helper()
	low, err := unix.Open("/", unix.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(low) })
	high, err := unix.FcntlInt(uintptr(low), unix.F_DUPFD, 100)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(high) })
}

// TestExecute: what is executed has what it is given, and nothing of ours: not our handlers, mask, environment, directory,
// session or descriptors.
func TestExecute(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), unix.SIGUSR1)
	leaveOpen(t)
	f := clone(t, unix.CLONE_NEWUSER|unix.CLONE_NEWUTS)
	own := os.Getuid()
	f.mapIDs(t, own)
	if err := f.Execute(self, []string{tell, "a b", ""}, false); err != nil {
		t.Fatal(err)
	}
	words := f.words(t)
	for _, want := range []string{
		"Uid: 0 0 0 0", "Gid: 0 0 0 0", "args [a b ] env [] dir / leads true dumpable 1 <nil>",
		"SigBlk: 0000000000000000", "SigIgn: 0000000000000000", "descriptor 0", "descriptor 1", "descriptor 2",
	} {
		if !slices.Contains(words, want) {
			t.Errorf("%q is not among %q", want, words)
		}
	}
	for _, word := range words {
		var fd int
		if _, err := fmt.Sscanf(word, "descriptor %d", &fd); err == nil && fd > 2 {
			t.Errorf("it has descriptor %d", fd)
		}
	}
	f.in.Close()
	if state := <-f.done; state.ExitCode() != 7 {
		t.Errorf("it ended with %v", state)
	}
	close(f.end)
}

// TestExecuteAsRoot takes other ids than the caller's, and leaves the caller as it was.
func TestExecuteAsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has other ids to give")
	}
	f := clone(t, unix.CLONE_NEWUSER)
	f.mapIDs(t, 2_000_000_000)
	if err := f.Execute(self, []string{tell}, true); err != nil {
		t.Fatal(err)
	}
	words := f.words(t)
	for _, want := range []string{"Uid: 0 0 0 0", "Gid: 0 0 0 0", "Groups:"} {
		if !slices.Contains(words, want) {
			t.Errorf("%q is not among %q", want, words)
		}
	}
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); dumpable != 1 || err != nil {
		t.Errorf("this process is left dumpable: %d, %v", dumpable, err)
	}
	if os.Getuid() != 0 || unix.Getuid() != 0 {
		t.Error("it took our ids along")
	}
	f.in.Close()
	<-f.done
	close(f.end)
}

func TestExecuteFails(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		root bool
		want error
		op   string
	}{
		"no such program":   {path: "/no/such/program", want: unix.ENOENT, op: "execve"},
		"no program":        {path: "/dev/null", want: unix.EACCES, op: "execve"},
		"ids are not there": {path: self, root: true, want: unix.EINVAL, op: "become root"},
	} {
		t.Run(name, func(t *testing.T) {
			f := clone(t, unix.CLONE_NEWUSER)
			if !c.root {
				f.mapIDs(t, os.Getuid())
			}
			err := f.Execute(c.path, []string{tell}, c.root)
			var path *os.PathError
			if !errors.As(err, &path) || path.Op != c.op || path.Path != c.path {
				t.Errorf("%v", err)
			}
			if !errors.Is(err, c.want) && (!c.root || !errors.Is(err, unix.EPERM)) {
				t.Errorf("%v, want %v", err, c.want)
			}
			if state := <-f.done; state.ExitCode() != 1 {
				t.Errorf("it ended with %v", state)
			}
			close(f.end)
		})
	}
}

// TestClose ends what waits, without its having executed.
func TestClose(t *testing.T) {
	f := clone(t, unix.CLONE_NEWUSER)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if state := <-f.done; state.ExitCode() != 0 {
		t.Errorf("it ended with %v", state)
	}
	close(f.end)
}

// TestKilledBeforeItExecutes is no error of Execute that it knows of, but one that is told.
func TestKilledBeforeItExecutes(t *testing.T) {
	f := clone(t, unix.CLONE_NEWUSER)
	if err := f.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-f.done
	if err := f.Execute(self, []string{tell}, false); !errors.Is(err, unix.EPIPE) {
		t.Errorf("%v, want %v", err, unix.EPIPE)
	}
	close(f.end)
}

// TestSignalWhileItWaits: it is there for it alone, and nothing of ours handles it.
func TestSignalWhileItWaits(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, unix.SIGUSR2)
	f := clone(t, unix.CLONE_NEWUSER)
	f.mapIDs(t, os.Getuid())
	if err := f.Process.Signal(unix.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	_ = f.Execute(self, []string{tell}, false)
	if state := <-f.done; state.String() != "signal: user defined signal 2" {
		t.Errorf("it ended with %v", state)
	}
	select {
	case <-heard:
		t.Error("we heard its signal")
	default:
	}
	close(f.end)
}

// TestDiesWithItsThread: the thread stands for the launcher.
func TestDiesWithItsThread(t *testing.T) {
	f := clone(t, unix.CLONE_NEWUTS|unix.CLONE_NEWUSER)
	f.mapIDs(t, os.Getuid())
	if err := f.Execute("/bin/sleep", []string{"sleep", "1000"}, false); err != nil {
		t.Fatal(err)
	}
	close(f.end)
	if state := <-f.done; state.Sys() == nil || state.String() != "signal: killed" {
		t.Errorf("it ended with %v", state)
	}
}

// TestCallerKilled has nobody left who would open the gate.
func TestCallerKilled(t *testing.T) {
	caller := exec.Command(self)
	caller.Args = []string{wait}
	out, err := caller.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := caller.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanln(out, &pid); err != nil {
		t.Fatal(err)
	}
	waiting, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(waiting)
	if err := caller.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = caller.Wait()
	polled := []unix.PollFd{{Fd: int32(waiting), Events: unix.POLLIN}}
	if n, err := unix.Poll(polled, 20_000); n != 1 || err != nil {
		_ = unix.PidfdSendSignal(waiting, unix.SIGKILL, nil, 0)
		t.Errorf("it lives on: %d, %v", n, err)
	}
}

// TestFilesWhereItsOwnWouldBe: where low descriptors are free, its gate must not become one of them. What it puts into the
// gate's place would be taken for its having executed, and the memory that it still uses would be freed.
func TestFilesWhereItsOwnWouldBe(t *testing.T) {
	caller := exec.Command(self)
	caller.Args = []string{fill}
	if out, err := caller.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestManyAsRoot: those that take other ids at the same time leave this process as it was.
func TestManyAsRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root has other ids to give")
	}
	for range 20 {
		var families []*family
		for range 4 {
			f := clone(t, unix.CLONE_NEWUSER)
			f.mapIDs(t, 2_000_000_000)
			families = append(families, f)
		}
		errs := make(chan error)
		for _, f := range families {
			go func() { errs <- f.Execute("/bin/true", []string{"true"}, true) }()
		}
		for range families {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		for _, f := range families {
			<-f.done
			close(f.end)
		}
		if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); dumpable != 1 || err != nil {
			_ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
			t.Fatalf("this process is left dumpable: %d, %v", dumpable, err)
		}
	}
}

// TestManyWait: the end of one is heard while others wait, which were cloned at the same time and have copies of what we have.
func TestManyWait(t *testing.T) {
	for range 100 {
		children := make(chan *Child, 4)
		end := make(chan struct{})
		for range cap(children) {
			go func() {
				runtime.LockOSThread()
				child, err := Clone(unix.CLONE_NEWUSER)
				if err != nil {
					child = nil
				}
				children <- child
				<-end
			}()
		}
		var all []*Child
		for range cap(children) {
			if child := <-children; child != nil {
				all = append(all, child)
			}
		}
		if len(all) < cap(children) {
			t.Skip("no user namespaces")
		}
		for i, child := range all {
			closed := make(chan error, 1)
			go func() { closed <- child.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(2 * time.Minute):
				t.Errorf("the end of %d is not heard", i)
				for _, other := range all {
					_ = other.Process.Kill()
				}
				t.Log(<-closed)
			}
			_, _ = child.Process.Wait()
			if t.Failed() {
				close(end)
				return
			}
		}
		close(end)
	}
}

// TestNothingIsLeft: neither descriptors nor mappings.
func TestNothingIsLeft(t *testing.T) {
	once := func() {
		f := clone(t, unix.CLONE_NEWUSER)
		if err := f.Execute("/no/such/program", []string{tell}, false); err == nil {
			t.Fatal("it executed what is not there")
		}
		<-f.done
		close(f.end)
		f.in.Close()
	}
	once()
	before := descriptors(t)
	for range 20 {
		once()
	}
	// The reading ends are closed when the test ends.
	if after := descriptors(t); after > before+20 {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
