package claim

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// The launcher of a living run holds a lock on the run's directory, by which launchers of every root know
// it. The analysis cannot: it has /work alone, which is one below.

// RunPrefix begins the name of every run's directory.
const RunPrefix = "scidex-analysis-"

// ErrLives refuses the directory of a living run.
var ErrLives = errors.New("it is the working directory of a run that has not ended; wait for its end, or choose another")

// HoldRun locks a run's directory until the file is closed. The lock is exclusive: systemd-tmpfiles, which takes one
// of its own on every directory (tmpfiles.d(5), "Age"), then leaves the directory alone with all that is in it, however
// old. Where the file system has no locks for directories (NFS), nobody is told.
func HoldRun(dir *os.File) error {
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX) // whoever looks lets go at once
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP):
			return nil
		}
		return err
	}
}

// RunLives reports whether an open directory, by descriptor, is that of a living run.
func RunLives(dir int) bool {
	fd, err := inode.OpenBeneath(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return errors.Is(err, unix.EACCES) // then it cannot be ruled out
	}
	defer unix.Close(fd) // and the lock with it
	return errors.Is(unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
