package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Values of argv[0] by which Main knows its part. argv[1] is the name of a probe.
const (
	probeName = "scidex-oci: doctor"
	waitName  = "scidex-oci: doctor, waiting for id maps"
	idleName  = "scidex-oci: doctor, idle"
)

// Main takes over a process that Run or StartIdle started; then it does not return. Call it first in main, and in TestMain
// of every test that runs probes.
func Main(probes func() []Probe) {
	switch os.Args[0] {
	case waitName:
		awaitMaps()
	case probeName:
		answerProbe(probes(), os.Args[1])
	case idleName:
		_, _ = io.Copy(io.Discard, os.Stdin) // ends with the process that started this one
	default:
		return
	}
	os.Exit(0)
}

// answer is the line that a child writes to its standard output.
type answer struct {
	Seen  string        `json:"seen"`
	Error string        `json:"error"`
	Errno syscall.Errno `json:"errno"` // 0 where the error is not the kernel's
}

// err restores the error with its errno.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Errno == 0:
		return errors.New(a.Error)
	}
	return &kernelError{a.Error, a.Errno}
}

// kernelError is an error of a child with the errno behind it.
type kernelError struct {
	text  string
	errno syscall.Errno
}

func (e *kernelError) Error() string { return e.text }

func (e *kernelError) Unwrap() error { return e.errno }

func answerProbe(probes []Probe, name string) {
	// The execve that gave capabilities cleared the signal that the parent had set.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		os.Exit(1)
	}
	var a answer
	err := fmt.Errorf("there is no trial %q", name)
	for _, p := range probes {
		if p.Name == name {
			a.Seen, err = p.Do()
		}
	}
	if err != nil {
		a.Error = err.Error()
		_ = errors.As(err, &a.Errno)
	}
	_ = json.NewEncoder(os.Stdout).Encode(a) // the parent reports a missing answer
}

// awaitMaps waits for a byte, which says that the id maps are written, and executes the program again: only an execve as a
// mapped root gives capabilities (user_namespaces(7)).
func awaitMaps() {
	if n, err := os.Stdin.Read(make([]byte, 1)); n != 1 || err != nil {
		os.Exit(1)
	}
	_ = syscall.Exec("/proc/self/exe", append([]string{probeName}, os.Args[1:]...), nil)
	os.Exit(1)
}

// IdleCommand is a process of this program that does nothing until its standard input ends. Main starts it.
func IdleCommand(attr *syscall.SysProcAttr) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.SysProcAttr = []string{idleName}, attr
	return cmd
}

// InThread calls do in a thread that ends with it. The first thread of a process does not end, so it is not used.
func InThread(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		if unix.Gettid() == unix.Getpid() {
			InThread(do) // in another one, since this one is locked
			return
		}
		do()
	}()
	<-done
}
