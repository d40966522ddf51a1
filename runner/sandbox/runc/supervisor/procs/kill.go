package procs

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Kill kills every process in a container's /proc except its init. The process's directory serves as a pidfd
// (pidfd_send_signal(2)), so that a reused pid is never hit.
func Kill(proc string) error {
	entries, err := os.ReadDir(proc)
	var errs []error
	for _, e := range entries {
		if pid, bad := strconv.Atoi(e.Name()); bad == nil && pid != 1 {
			errs = append(errs, killAt(filepath.Join(proc, e.Name())))
		}
	}
	return errors.Join(append(errs, err)...)
}

func killAt(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(fd)
		err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil // it has ended
	}
	return err
}
