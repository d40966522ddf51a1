package lockdir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// RunPrefix starts the names of all runs' directories.
const RunPrefix = "scidex-analysis-"

// ErrLocked refuses the directory of a live run.
var ErrLocked = errors.New("it is the working directory of a run that has not ended; wait for its end, or choose another")

// LockRun locks a run's directory until the file is closed, which shows every launcher of the host that the run is alive.
// The analysis cannot change that: it sees only /work, one level below. The lock is exclusive, so that systemd-tmpfiles,
// which locks each directory (tmpfiles.d(5), "Age"), keeps it, however old it is. A file system that cannot lock
// directories (NFS) is no error: the directory stays unlocked.
func LockRun(dir *os.File) error {
	err := flock.Lock(dir, flock.Exclusive) // RunLocked and Sweep hold it only for a moment
	if flock.Missing(err) {
		return nil
	}
	return err
}

// RunLocked reports whether an open directory is that of a live run.
func RunLocked(dir int) bool {
	fd, err := beneath.Reopen(dir)
	if err != nil {
		return errors.Is(err, unix.EACCES) // it may be
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	held, _ := flock.Held(f)
	return held
}
