package doctor

import (
	"bytes"
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

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// The names of argv[0] by which Main knows its part. The second argument is the code of a trial.
const (
	tryName  = "scidex-oci: doctor"
	waitName = "scidex-oci: doctor, waiting for id maps"
	idleName = "scidex-oci: doctor, idle"
)

// childWait is how long a child may take: a thousand times what it takes.
const childWait = 30 * time.Second

// Main takes over the process where Run started it as a child; it does not return then. Call it first in main,
// and in TestMain of every test that examines.
func Main() {
	switch os.Args[0] {
	case waitName:
		awaitMaps()
	case tryName:
		try(os.Args[1])
	case idleName:
		_, _ = io.Copy(io.Discard, os.Stdin) // until it ends with whoever started this
	default:
		return
	}
	os.Exit(0)
}

// answer is what a child says on its standard output.
type answer struct {
	Seen  string        `json:"seen"`
	Error string        `json:"error"`
	Errno syscall.Errno `json:"errno"` // 0 where the error is none of the kernel's
}

// err is the answer's error, which is its errno too.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Errno == 0:
		return errors.New(a.Error)
	}
	return &kernelError{a.Error, a.Errno}
}

// kernelError is an error that a child has had.
type kernelError struct {
	text  string
	errno syscall.Errno
}

func (e *kernelError) Error() string { return e.text }

func (e *kernelError) Unwrap() error { return e.errno }

// try does what a trial does, and answers.
func try(code string) {
	// The execve that gave capabilities has cleared what the parent had set.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		os.Exit(1)
	}
	var a answer
	err := fmt.Errorf("there is no trial %q", code)
	for _, t := range trials() {
		if t.code == code {
			a.Seen, err = t.do()
		}
	}
	if err != nil {
		a.Error = err.Error()
		_ = errors.As(err, &a.Errno)
	}
	_ = json.NewEncoder(os.Stdout).Encode(a) // whoever does not hear it says so
}

// awaitMaps waits for a byte, which says that the id maps are written, and executes the program once more: only an
// execve as a mapped root gives the capabilities (user_namespaces(7)).
func awaitMaps() {
	if n, err := os.Stdin.Read(make([]byte, 1)); n != 1 || err != nil {
		os.Exit(1)
	}
	_ = syscall.Exec("/proc/self/exe", append([]string{tryName}, os.Args[1:]...), nil)
	os.Exit(1)
}

// mapping says which ids a child has in its user namespace.
type mapping int

const (
	noNamespace mapping = iota
	mapNothing
	mapSelf
	mapAccount // as the supervisor has
)

// child is one process of ours that tries something.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *bytes.Buffer // complete when it has ended
	ended  chan struct{}
}

// try starts a child for a trial and returns its answer.
func (t trial) try(ctx context.Context, account sandbox.Account) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, childWait)
	defer cancel()
	attr := &syscall.SysProcAttr{Cloneflags: t.namespaces}
	name := tryName
	if t.ids != noNamespace {
		attr.Cloneflags |= unix.CLONE_NEWUSER
	}
	switch t.ids {
	case noNamespace, mapNothing:
	case mapSelf:
		account.MapSelf(attr)
	case mapAccount:
		if !account.MapDirectly(attr) {
			name = waitName
		}
	}
	c, err := start(ctx, attr, name, t.code)
	if err != nil {
		return "", err
	}
	defer c.end()
	if name == waitName {
		if err := c.mapped(ctx, account); err != nil {
			return "", err
		}
	}
	return c.answer(ctx)
}

// start starts this program once more. The child dies with the thread that started it, which waits for it and does
// nothing else.
func start(ctx context.Context, attr *syscall.SysProcAttr, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir, cmd.SysProcAttr = args, []string{}, "/", attr
	attr.Pdeathsig, attr.Setsid = syscall.SIGKILL, true
	c := &child{cmd: cmd, stderr: &bytes.Buffer{}, ended: make(chan struct{})}
	cmd.Stderr = c.stderr
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, c.stdout = write, read
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(c.ended)
		err := cmd.Start()
		_ = write.Close()
		started <- err
		if err == nil {
			_ = cmd.Wait() // what it had to say it has said
		}
	}()
	if err := <-started; err != nil {
		<-c.ended
		return nil, bare(errors.Join(err, read.Close()))
	}
	return c, nil
}

// bare is the kernel's own word without that it was about /proc/self/exe.
func bare(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func (c *child) mapped(ctx context.Context, account sandbox.Account) error {
	if err := account.WriteMaps(ctx, c.cmd.Process.Pid); err != nil {
		return err
	}
	_, err := c.stdin.Write([]byte{1})
	return err
}

// maxAnswer bounds what a child says, in bytes.
const maxAnswer = 64 << 10

func (c *child) answer(ctx context.Context) (string, error) {
	var a answer
	err := json.NewDecoder(io.LimitReader(c.stdout, maxAnswer)).Decode(&a)
	switch {
	case err == nil:
		return a.Seen, a.err()
	case ctx.Err() != nil:
		return "", fmt.Errorf("a process of ours that tried it did not end: %w", ctx.Err())
	}
	<-c.ended
	return "", fmt.Errorf("a process of ours that tried it ended: %v%s", c.cmd.ProcessState, lastWords(c.stderr))
}

// lastWords is the first line of what a process wrote to its standard error: Go's runtime begins with the reason.
func lastWords(stderr *bytes.Buffer) string {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}

// end kills the child, with all that is below it where it has a PID namespace, and waits for it.
func (c *child) end() {
	_ = c.cmd.Process.Kill() // it may be gone
	<-c.ended
	_ = c.stdout.Close() // it was read
}
