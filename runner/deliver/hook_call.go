package deliver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
)

// hookStderr is how much of the end of a hook's standard error is kept, in bytes.
const hookStderr = 64 << 10

// hookDrain is how long output of what has left the hook's process group is read after its end.
const hookDrain = time.Second

// hookCall is a hook that runs.
type hookCall struct {
	hook    request.Hook
	cmd     *exec.Cmd
	dead    chan struct{}   // the hook has died and still is a zombie: its group's number is its own
	stderr  *bounded.Buffer // its writer may outlive the hook
	stopped *request.StopSignal
	done    result.PostProcess
}

// executeHook runs a hook with result on its standard input. The error says why it has not succeeded.
func executeHook(h request.Hook, key catalog.Key, res []byte, dir string, stop <-chan request.StopSignal) (result.PostProcess, error) {
	c := &hookCall{hook: h, cmd: exec.Command(h.Command[0], h.Command[1:]...), dead: make(chan struct{}), stderr: bounded.Tail(hookStderr)}
	c.done.Command = h.Command
	screen := &lockedWriter{to: h.Output}
	c.cmd.Env = os.Environ()
	for name, value := range h.Environ {
		c.cmd.Env = append(c.cmd.Env, name+"="+value)
	}
	c.cmd.Env = append(c.cmd.Env,
		"SCIDEX_ANALYSIS_ID="+key.ID, "SCIDEX_ATTEMPT="+strconv.Itoa(key.Attempt), "SCIDEX_OUTPUT_DIR="+dir)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = bytes.NewReader(res), screen, io.MultiWriter(c.stderr, screen)
	c.cmd.WaitDelay = hookDrain
	// Its process group is what is killed, and what Ctrl-C at the terminal does not reach. A hook whose launcher is killed
	// dies: it will be repeated and must not run twice at once.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := closeOnExec(); err != nil {
		return c.done, err
	}
	start := time.Now()
	if err := c.start(); err != nil {
		return c.done, fmt.Errorf("the post-process command could not be started: %w", err)
	}
	c.done.StartedAt = result.Millis(start)
	c.watch(stop)
	c.signal(unix.SIGKILL) // whatever it left in its group
	err := c.cmd.Wait()
	c.done.WallMS = time.Since(start).Milliseconds()
	c.done.Stderr = catalog.ValidText(c.stderr.String())
	return c.done, c.judge(err)
}

// closeOnExec gives a hook only the three streams: Go opens files with close-on-exec, but those that the launcher was started
// with may lack it.
func closeOnExec() error {
	err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// start starts the hook on a thread that lives until the hook is dead: the parent-death signal is sent when the thread that
// forked ends (PR_SET_PDEATHSIG(2const)).
func (c *hookCall) start() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for {
			err := unix.Waitid(unix.P_PID, c.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				close(c.dead)
				return
			}
		}
	}()
	return <-started
}

// watch waits for the hook's end, and stops it at the timeout or on a stop request.
func (c *hookCall) watch(stop <-chan request.StopSignal) {
	timeout := time.NewTimer(c.hook.Timeout)
	defer timeout.Stop()
	var grace <-chan time.Time
	for {
		select {
		case <-c.dead:
			return
		case <-timeout.C:
			if grace == nil {
				c.done.TimedOut = true
				grace = c.ask()
			}
		case signal := <-stop:
			if grace != nil {
				c.signal(unix.SIGKILL)
				continue
			}
			c.stopped = &signal
			grace = c.ask()
		case <-grace:
			c.signal(unix.SIGKILL)
		}
	}
}

// ask sends SIGTERM and returns when to kill the hook.
func (c *hookCall) ask() <-chan time.Time {
	c.signal(unix.SIGTERM)
	return time.After(c.hook.Grace)
}

// signal signals the hook's process group; an empty one is no error.
func (c *hookCall) signal(s unix.Signal) { _ = unix.Kill(-c.cmd.Process.Pid, s) }

// judge reads how the hook ended.
func (c *hookCall) judge(failure error) error {
	var exit *exec.ExitError
	// Its own end counts, not that of processes that left its group with its streams.
	if failure != nil && !errors.As(failure, &exit) && !errors.Is(failure, exec.ErrWaitDelay) {
		return fmt.Errorf("the post-process command could not be followed: %w", failure)
	}
	status, _ := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	code := status.ExitStatus()
	if status.Signaled() {
		name := unix.SignalName(status.Signal())
		code, c.done.Signal = outcome.SignalBase+int(status.Signal()), &name
	}
	c.done.ExitCode = &code
	switch {
	case c.stopped != nil:
		return errors.New("the post-process command was stopped by " + c.stopped.Name)
	case c.done.TimedOut:
		return fmt.Errorf("the post-process command timed out after %v", c.hook.Timeout)
	case status.Signaled():
		return errors.New("the post-process command was killed by " + *c.done.Signal)
	case code != 0:
		return fmt.Errorf("the post-process command exited with %d", code)
	}
	return nil
}

// lockedWriter takes the two streams of a hook.
type lockedWriter struct {
	mu sync.Mutex
	to io.Writer
}

// Write writes p as a whole.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
