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

// kill ends the analysis at once. The signal to the container's init is enough for the kernel, which kills the rest of the
// namespace for it, but only when that init is scheduled next, beside whatever the analysis runs. So every process gets
// its own, and the launcher, which has the control group, is told. init comes first, so that it does not report the end of
// an analysis that was killed.
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

// killRest repeats it, for what was being forked, until every process is dead.
func (w *worker) killRest() {
	const longest = 50 * time.Millisecond
	for pause := time.Millisecond; ; pause = min(2*pause, longest) {
		_ = killListed(w.proc.Name()) // what is left dies with init
		select {
		case <-w.ended:
			return
		case <-time.After(pause):
		}
	}
}

// killListed kills every process that a container's /proc lists but its init. Its directory there stands for the process, as
// a pidfd does (pidfd_send_signal(2)): no number is used twice.
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
