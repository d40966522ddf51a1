package runner

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// promised is the mode of a run's directory that holds the only copy of what the run wrote, after its user was told so: the sticky
// bit is the evidence. It is on the file system of the work, since the one with the state file, the catalog and the outcomes may be
// what failed. The analysis reaches what is in the directory alone.
const promised = 0o700 | os.ModeSticky

// promise marks the directory before the user is told that it stays.
func (w *workdir) promise() error {
	if err := w.dir.Chmod(promised); err != nil {
		return err
	}
	return w.dir.Sync()
}

// isPromised reports whether the directory of a place is marked, and returns the place with its inode where that was not recorded:
// the directory is its own evidence, if the caller owns it.
func isPromised(place Place, uid int) (Place, bool) {
	var st unix.Stat_t
	if place.Dir == "" || unix.Lstat(place.Dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&unix.S_ISVTX == 0 || int(st.Uid) != uid {
		return place, false
	}
	if place.Ino == 0 {
		place.Dev, place.Ino = st.Dev, st.Ino
	}
	return place, st.Dev == place.Dev && st.Ino == place.Ino
}

// keepWork is the last resort for a run whose end could be neither committed nor kept as an outcome, for the reasons why: its
// working directory stays. It returns what the user is to know.
func (e *execution) keepWork(ctx context.Context, why error) error {
	if e.ingest != nil { // what is in it is not to be had again
		e.ingest.Leave()
		e.ingest = nil
	}
	if e.dir == nil {
		return why
	}
	err := e.dir.promise()
	if err == nil && e.plan.inMemory() {
		err = e.clean(ctx, true)
	}
	if err != nil {
		return fmt.Errorf("%w; what the analysis wrote is in %q, which could not be marked, so copy it before anything is removed: %w", why, e.place.Dir, err)
	}
	return fmt.Errorf("%w; what the analysis wrote stays in %q", why, e.place.Dir)
}
