package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
)

// Try is what a check does in a child process of this program.
type Try struct {
	IDs        Mapping
	Namespaces uintptr // clone flags; CLONE_NEWUSER follows from IDs
	// Do is called in the child and returns what it saw.
	Do func() (seen string, err error)
}

// Mapping is which ids a child has in its user namespace.
type Mapping int

// The mappings. MapAccount maps the ids that a supervisor has.
const (
	NoNamespace Mapping = iota
	MapNothing
	MapSelf
	MapAccount
)

// Values of argv[0] by which Main knows its part. argv[1] is the name of a check.
const (
	tryName  = "scidex-oci: doctor"
	waitName = "scidex-oci: doctor, waiting for id maps"
	idleName = "scidex-oci: doctor, idle"
)

const (
	timeout   = 30 * time.Second // of a child: a thousand times what a try takes
	maxOutput = 64 << 10         // bytes that are kept of each output of a child
)

// Main takes over a process that was started for a check; then it does not return. Call it first in main, and in TestMain
// of every test that makes checks.
func Main(checks func() []Check) {
	switch os.Args[0] {
	case waitName:
		awaitMaps()
	case tryName:
		answerTry(checks(), os.Args[1])
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
	Errno syscall.Errno `json:"errno"` // 0 if the error is not the kernel's
}

// kernelError is an error of a child with the errno behind it.
type kernelError struct {
	text  string
	errno syscall.Errno
}

func (e *kernelError) Error() string { return e.text }

func (e *kernelError) Unwrap() error { return e.errno }

func answerTry(checks []Check, name string) {
	// The execve that gave capabilities cleared the signal that the parent had set.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		os.Exit(1)
	}
	var a answer
	err := fmt.Errorf("there is no trial %q", name)
	for _, k := range checks {
		if k.Name == name && k.Try != nil {
			a.Seen, err = k.Try.Do()
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
	_ = syscall.Exec("/proc/self/exe", append([]string{tryName}, os.Args[1:]...), nil)
	os.Exit(1)
}

// run starts the child and returns its answer. An error of the kernel keeps its errno.
func (t Try) run(ctx context.Context, name string, account idmap.Account) (seen string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	attr, part := t.attributes(account)
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir, cmd.SysProcAttr = []string{part, name}, []string{}, "/", attr
	cmd.WaitDelay = time.Second
	stdout, stderr := bounded.Head(maxOutput), bounded.Head(maxOutput)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	var unmapped error
	InThread(func() { // which the child dies with
		if err = cmd.Start(); err != nil {
			return
		}
		if part == waitName {
			if unmapped = account.WriteMaps(ctx, cmd.Process.Pid); unmapped != nil {
				cancel()
			} else {
				_, _ = stdin.Write([]byte{1}) // a child that has ended says so
			}
		}
		_ = cmd.Wait() // answerOf reports how it ended
	})
	switch {
	case err != nil:
		return "", StartError(err, nil)
	case unmapped != nil:
		return "", unmapped
	}
	var a answer
	switch {
	case json.Unmarshal(stdout.Bytes(), &a) == nil:
	case ctx.Err() != nil:
		return "", fmt.Errorf("a process that tried it did not end: %w", ctx.Err())
	default:
		return "", fmt.Errorf("a process that tried it ended: %v%s", cmd.ProcessState, reason(stderr.Bytes()))
	}
	switch {
	case a.Error == "":
		return a.Seen, nil
	case a.Errno == 0:
		return "", errors.New(a.Error)
	}
	return "", &kernelError{a.Error, a.Errno}
}

// attributes of the child, and the argv[0] that selects its part in Main.
func (t Try) attributes(account idmap.Account) (*syscall.SysProcAttr, string) {
	attr := &syscall.SysProcAttr{Cloneflags: t.Namespaces, Pdeathsig: syscall.SIGKILL, Setsid: true}
	if t.IDs != NoNamespace {
		attr.Cloneflags |= unix.CLONE_NEWUSER
	}
	switch t.IDs {
	case NoNamespace, MapNothing:
	case MapSelf:
		account.MapSelf(attr)
	case MapAccount:
		if !account.MapDirectly(attr) {
			return attr, waitName
		}
	}
	return attr, tryName
}

// IdleCommand is a process of this program that does nothing until its standard input ends. Main starts it.
func IdleCommand(attr *syscall.SysProcAttr) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Dir, cmd.SysProcAttr = []string{idleName}, "/", attr
	return cmd
}

// StartIdle starts one that ends when it is killed or when this process ends.
func StartIdle(attr *syscall.SysProcAttr) (*exec.Cmd, error) {
	cmd := IdleCommand(attr)
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, StartError(err, nil)
	}
	return cmd, nil
}

// StartError is why a process of this program did not start or failed: the kernel's error without the path
// /proc/self/exe, and the first line of its standard error.
func StartError(err error, stderr []byte) error {
	var path *os.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%w%s", err, reason(stderr))
}

// reason is the first line of a standard error after a colon: Go's runtime starts with the reason.
func reason(stderr []byte) string {
	if line := FirstLine(stderr); line != "" {
		return ": " + line
	}
	return ""
}

// FirstLine of text that may hold anything.
func FirstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(text), "?")), "\n")
	return line
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
