package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
)

// Child is a process of this program.
type Child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *Lines
	stderr *bounded.Buffer
	ended  chan struct{}
}

// StartIdle starts a child that does nothing until Close.
func StartIdle(ctx context.Context) (*Child, error) {
	return start(ctx, &syscall.SysProcAttr{}, idleName)
}

// maxStderr is how much of a child's standard error is kept, in bytes.
const maxStderr = 64 << 10

// start executes this program again. The child dies with the thread that started it, which only waits for it.
func start(ctx context.Context, attr *syscall.SysProcAttr, args ...string) (*Child, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir, cmd.SysProcAttr = args, []string{}, "/", attr
	attr.Pdeathsig, attr.Setsid = syscall.SIGKILL, true
	c := &Child{cmd: cmd, stdout: NewLines(1), stderr: bounded.Head(maxStderr), ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = c.stdout, c.stderr
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer close(c.ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // answer reports how it ended
		}
	}()
	if err := <-started; err != nil {
		return nil, StartError(err, nil)
	}
	return c, nil
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

// PID of the child.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// writeMaps maps the ids of a child that waits for them.
func (c *Child) writeMaps(ctx context.Context, account idmap.Account) error {
	if err := account.WriteMaps(ctx, c.PID()); err != nil {
		return err
	}
	_, err := c.stdin.Write([]byte{1})
	return err
}

func (c *Child) answer(ctx context.Context) (string, error) {
	line, err := c.stdout.Next(ctx, c.ended)
	switch {
	case errors.Is(err, ErrEnded):
		return "", fmt.Errorf("a process of ours that tried it ended: %v%s", c.cmd.ProcessState, reason(c.stderr.Bytes()))
	case err != nil:
		return "", fmt.Errorf("a process of ours that tried it did not end: %w", err)
	}
	var a answer
	if err := Decode(line, &a); err != nil {
		return "", err
	}
	return a.Seen, a.err()
}

// Close kills the child, with all processes in its PID namespace if it has one, and waits for it.
func (c *Child) Close() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.ended
}
