package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// kill ends the analysis at once. Killing the container's init would suffice: the kernel then kills the rest of the
// namespace, but only once that init is scheduled, beside whatever the analysis runs. So every process gets its own
// signal, and the launcher, which has the control group, is notified. init comes first, so that it does not report the
// end of a killed analysis.
func (w *worker) kill() error {
	err := w.container.Signal(syscall.SIGKILL)
	w.killing.Do(func() {
		if w.proc != nil {
			w.tasks.Go(w.killRest)
		}
		w.tell(message{Type: msgKilled})
	})
	return err
}

// killRest repeats it, to catch concurrent forks, until every process is dead.
func (w *worker) killRest() {
	const longest = 50 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		_ = killListed(w.proc.Name()) // the rest dies with init
		select {
		case <-w.ended:
			return
		case <-time.After(pause):
		}
	}
}

// killListed kills every process in a container's /proc except its init. The process's directory serves as a pidfd
// (pidfd_send_signal(2)), so that a reused pid is never hit.
func killListed(proc string) error {
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
