package forks

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/forks/proof"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/procs"
)

// clearStrays kills and reaps what a dead template has left beside what is known, until there is nothing.
func clearStrays(known func() map[int]bool, longest time.Duration) error {
	for until := time.Now().Add(longest); ; time.Sleep(time.Millisecond) {
		strays, err := proof.Strays(known())
		if err != nil || len(strays) == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("processes %v of a template do not end", strays)
		}
		for _, pid := range strays {
			killStray(pid)
		}
	}
}

// killStray kills a process and reaps it if it is ours: the end of the container that it may be in waits for that.
func killStray(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	for errors.Is(reapNow(pid), unix.EINTR) {
	}
}

func reapNow(pid int) error {
	_, err := unix.Wait4(pid, nil, unix.WALL|unix.WNOHANG, nil)
	return err
}

// empty kills all but init in a container.
func empty(proc string, longest time.Duration) error {
	for until := time.Now().Add(longest); ; time.Sleep(time.Millisecond) {
		err := procs.Kill(proc)
		running, failed := procs.CountRunning(proc)
		if err = errors.Join(err, failed); err != nil || running == 0 {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("%d processes in the container do not end", running)
		}
	}
}
