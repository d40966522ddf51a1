package runner

import (
	"errors"

	"golang.org/x/sys/unix"
)

// The launcher of a living run holds a lock on the run's directory, by which launchers of every root know
// it. The analysis cannot: it has /work alone, which is one below.

var errLives = errors.New("it is the working directory of a run that has not ended; wait for its end, or choose another")

// live takes the lock. Where the file system has none for directories (NFS), nobody is told.
func (w *workdir) live() error {
	for {
		err := unix.Flock(int(w.dir.Fd()), unix.LOCK_EX) // whoever looks lets go at once
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return ignore(ignore(ignore(err, unix.EBADF), unix.ENOLCK), unix.ENOTSUP)
	}
}

// lives reports whether an open directory is that of a living run.
func lives(dir int) bool {
	fd, err := openBeneath(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return errors.Is(err, unix.EACCES) // then it cannot be ruled out
	}
	defer unix.Close(fd) // and the lock with it
	return errors.Is(unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
