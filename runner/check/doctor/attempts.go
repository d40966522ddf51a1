package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check"
)

// The functions of this file are called in children.

// ownNamespace returns an error if this process is in the user namespace of its parent.
func ownNamespace() error {
	if os.Getppid() == 0 {
		return nil // its own PID namespace shows no parent
	}
	own, err := os.Readlink("/proc/self/ns/user")
	if err != nil {
		return err
	}
	parents, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", os.Getppid()))
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return nil // in the same namespace it would be readable
	}
	if err == nil && own == parents {
		return errors.New("the child is in the caller's user namespace")
	}
	return err
}

// identity reads the id maps.
func identity() (string, error) {
	if err := ownNamespace(); err != nil {
		return "", err
	}
	if os.Getuid() != 0 || os.Getgid() != 0 {
		return "", fmt.Errorf("the child is uid %d and gid %d and not root of its namespace", os.Getuid(), os.Getgid())
	}
	var maps []string
	for _, name := range []string{"uid_map", "gid_map"} {
		raw, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			return "", err
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		for i, line := range lines {
			lines[i] = strings.Join(strings.Fields(line), " ")
		}
		maps = append(maps, name+" "+strings.Join(lines, ", "))
	}
	return strings.Join(maps, "; "), nil
}

// nested starts a process in a user namespace within this one, with the ids of the first run: two, for its root and its
// analysis, or the only one there is.
func nested() (string, error) {
	one := func(ids ...int) (maps []syscall.SysProcIDMap) {
		for i, id := range ids {
			maps = append(maps, syscall.SysProcIDMap{ContainerID: 1000 * i, HostID: id, Size: 1})
		}
		return maps
	}
	ids := []int{0}
	if raw, err := os.ReadFile("/proc/self/uid_map"); err != nil {
		return "", err
	} else if len(bytes.Fields(raw)) > 3 || !bytes.HasSuffix(bytes.TrimSpace(raw), []byte(" 1")) {
		ids = []int{1, 2}
	}
	cmd := check.IdleCommand(&syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: one(ids...), GidMappings: one(ids...), Pdeathsig: syscall.SIGKILL,
	})
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// Its standard input is /dev/null: it ends at once.
	if err := cmd.Run(); err != nil {
		return "", check.StartError(err, stderr.Bytes())
	}
	return fmt.Sprintf("a process ran there with the ids %v of the supervisor's", ids), nil
}

func hostName() (string, error) {
	if err := unix.Sethostname([]byte("scidex")); err != nil {
		return "", fmt.Errorf("sethostname: %w", err)
	}
	name, err := os.Hostname()
	if err == nil && name != "scidex" {
		err = fmt.Errorf("the name was set and is %q", name)
	}
	return "set one", err
}

// parentDeath ends the thread that has started a process with a parent-death signal: the signal belongs to the
// thread (PR_SET_PDEATHSIG(2const)).
func parentDeath() (string, error) {
	var cmd *exec.Cmd
	var err error
	check.InThread(func() { cmd, err = check.StartIdle(&syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}) })
	if err != nil {
		return "", err
	}
	return "a process whose parent ended was killed", killed(cmd, "a process outlived the thread that had started it")
}

// pidfd signals a process by its pidfd, and waits for its end by that.
func pidfd() (string, error) {
	cmd, err := check.StartIdle(nil)
	if err != nil {
		return "", err
	}
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		return "", fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil {
		return "", fmt.Errorf("pidfd_send_signal: %w", err)
	}
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, int(killTimeout.Milliseconds())); err != nil || n != 1 {
		return "", fmt.Errorf("poll of a pidfd: %d, %w", n, err)
	}
	return "a process was signalled and seen to end", killed(cmd, "a process outlived a SIGKILL by its pidfd")
}

// killTimeout is how long a process may take to die.
const killTimeout = 10 * time.Second

// killed waits for a process that must die of SIGKILL.
func killed(cmd *exec.Cmd, failure string) error {
	overdue := time.AfterFunc(killTimeout, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer overdue.Stop()
	err := cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return nil
	}
	if cmd.ProcessState.ExitCode() == refusedToStart {
		return fmt.Errorf("a process of ours found too few threads left (RLIMIT_NPROC): %w", err)
	}
	return fmt.Errorf("%s (%w)", failure, err)
}

// refusedToStart is the exit code of this program if runner/host/headroom finds too few threads, before Go starts.
const refusedToStart = 125
