package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// promised is the mode of a run's directory that holds the only copy of what the run wrote, after its user was informed: the
// sticky bit is the evidence. It is on the file system of the work, since the one with the state file, the catalog and the
// outcomes may have failed. The analysis reaches only what is in the directory.
const promised = 0o700 | os.ModeSticky

// Promise marks the directory before the user learns that it stays.
func (w *Workdir) Promise() error {
	if err := w.Dir.Chmod(promised); err != nil {
		return err
	}
	return w.Dir.Sync()
}

// isPromised reports whether a location's directory is marked, and returns the location with its inode if that was not
// recorded: the directory is its own evidence, if the caller owns it.
func isPromised(location Location, uid int) (Location, bool) {
	var st unix.Stat_t
	if location.Dir == "" || unix.Lstat(location.Dir, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR || st.Mode&unix.S_ISVTX == 0 || int(st.Uid) != uid {
		return location, false
	}
	if location.Ino == 0 {
		location.Dev, location.Ino = st.Dev, st.Ino
	}
	return location, st.Dev == location.Dev && st.Ino == location.Ino
}
