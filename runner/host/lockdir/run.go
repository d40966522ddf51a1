package lockdir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// RunPrefix starts the names of all runs' directories.
const RunPrefix = "scidex-analysis-"

// ErrLocked refuses the directory of a live run.
var ErrLocked = errors.New("it is the working directory of a run that has not ended; wait for its end, or choose another")

// LockRun locks a run's directory until the file is closed, which shows every launcher of the host that the run is alive.
// The analysis cannot change that: it sees only /work, one level below. The lock is exclusive, so that systemd-tmpfiles,
// which locks each directory (tmpfiles.d(5), "Age"), leaves it alone, however old it is. A file system that cannot lock
// directories (NFS) is no error: the directory stays unlocked.
func LockRun(dir *os.File) error {
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX) // RunLocked and Sweep hold it only for a moment
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP):
			return nil
		}
		return err
	}
}

// RunLocked reports whether an open directory is that of a live run.
func RunLocked(dir int) bool {
	fd, err := inode.OpenBeneath(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return errors.Is(err, unix.EACCES) // it may be
	}
	defer unix.Close(fd) // which drops the lock
	return errors.Is(unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
